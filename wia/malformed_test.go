package wia

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// group returns a group field with one varint in it.
func group(num protowire.Number) []byte {
	b := protowire.AppendTag(nil, num, protowire.StartGroupType)
	b = append(b, vi(1, 1)...)
	return protowire.AppendTag(b, num, protowire.EndGroupType)
}

// rawVarint returns a field with a varint given as bytes.
func rawVarint(num protowire.Number, value ...byte) []byte {
	return append(protowire.AppendTag(nil, num, protowire.VarintType), value...)
}

// overlong returns a field with v as a varint of ten bytes.
func overlong(num protowire.Number, v byte) []byte {
	return rawVarint(num, v|0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0)
}

// nestedGraphs returns n nested graphs. The innermost has the given fields and is
// at level 3n+1.
func nestedGraphs(n int, innermost ...[]byte) []byte {
	g := cat(innermost...)
	for range n {
		g = by(2, by(5, by(6, g)))
	}
	return g
}

func put64(h []byte, at int, v uint64) { binary.LittleEndian.PutUint64(h[at:], v) }

// onlyTensor returns a file with one tensor of the given fields.
func onlyTensor(fields ...[]byte) container { return container{tensor: by(1, fields...)} }

func onlyGraph(fields ...[]byte) container { return container{graph: cat(fields...)} }

func node1(fields ...[]byte) container { return onlyGraph(by(2), by(2, fields...)) }

// attr returns a file with an attribute in its second node.
func attr(fields ...[]byte) container {
	return node1(by(5, st(1, "a")), by(5, fields...))
}

func externally(fields ...[]byte) container {
	return onlyTensor(decl("w", 1, 1), by(5, fields...))
}

// malformedFile is an invalid file, and the field and offset of the error.
type malformedFile struct {
	name   string
	c      container
	field  string
	offset int64
}

// malformed lists files with the same error.
type malformed struct {
	err   error
	files []malformedFile
}

func malformedCases() []malformed {
	gz := corpus.Gzip
	four := []byte{1, 2, 3, 4}
	w := inline("w", 1, four, 1)
	header := func(f func(h []byte)) container {
		c := small()
		c.patch = f
		return c
	}
	meta := func(s string) container { return container{meta: []byte(s)} }
	sums := func(fields ...[]byte) container { return container{sig: cat(fields...)} }
	sum := func(name string, n int) []byte { return by(1, st(1, name), by(2, make([]byte, n))) }
	return []malformed{
		{format.ErrMagic, []malformedFile{
			{"magic", header(func(h []byte) { h[0] = 0x32 }), "magic", 0},
		}},
		{format.ErrVersion, []malformedFile{
			{"major 2", header(func(h []byte) { h[4] = 2 }), "version_major", 4},
		}},
		{format.ErrUnsupported, []malformedFile{
			{"compression 3", header(func(h []byte) { h[72] = 3 }), "compression", 72},
			{"encryption 2", header(func(h []byte) { h[73] = 2 }), "encryption", 73},
			{"dtype 0", onlyTensor(st(1, "w"), dims(1), by(4, four)), "tensor.tensors[0].dtype", 256},
			{"dtype 11", onlyTensor(decl("w", 11, 1), by(4, four)), "tensor.tensors[0].dtype", 256},
			{"compressed: codec 3", container{tensor: by(2, by(1, decl("w", 1, 1)), vi(2, 3), by(3, gz(four)), vi(4, 4))}, "tensor.compressed_tensors[0].compression", 256},
			{"compressed: codec -1", container{tensor: by(2, by(1, decl("w", 1, 1)), vi(2, -1), by(3, gz(four)), vi(4, 4))}, "tensor.compressed_tensors[0].compression", 256},
		}},
		{format.ErrTruncated, []malformedFile{
			{"metadata offset beyond the file", header(func(h []byte) { put64(h, 8, 1<<40) }), "metadata_offset", 8},
			{"tensor size that overflows", header(func(h []byte) { put64(h, 48, 1<<64-1) }), "tensor_size", 48},
		}},
		{format.ErrCorrupt, []malformedFile{
			{"metadata inside the header", header(func(h []byte) { put64(h, 8, 255); put64(h, 16, 1) }), "metadata_offset", 8},
			{"graph over metadata", header(func(h []byte) { put64(h, 24, 256) }), "graph_offset", 24},
			{"metadata: array", meta(`[]`), "metadata", 256},
			{"metadata: byte order mark", meta("\ufeff{}"), "metadata", 256},
			{"metadata: lone surrogate", meta(`{"a":"\udead"}`), "metadata", 262},
			{"metadata: duplicate key", meta(`{"a":1,"a":1}`), "metadata", 263},
			{"metadata: NUL in a key", meta(`{"\u0000":1}`), "metadata", 257},
			{"metadata: 1001 levels", meta(`{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}"), "metadata", 1260},
			{"metadata: two objects", meta(`{}{}`), "metadata", 258},
			{"metadata: UTF-8", meta("{\"\xff\":1}"), "metadata", 258},
			{"metadata: empty but compressed", container{compression: 1, graph: gz(nil)}, "metadata", 256},
			{"metadata: nothing compressed", container{compression: 1, meta: gz(nil), graph: gz(nil)}, "metadata", 256},
			{"metadata: two gzip members", container{compression: 1, meta: cat(gz([]byte("{}")), gz([]byte(" "))), graph: gz(nil)}, "metadata", 256},
			{"metadata: bytes after gzip", container{compression: 1, meta: cat(gz([]byte("{}")), []byte{0}), graph: gz(nil)}, "metadata", 256},
			{"metadata: not gzip", container{compression: 1, meta: []byte("{}"), graph: gz(nil)}, "metadata", 256},
			{"graph: not zstd", container{compression: 2, meta: corpus.Zstd([]byte("{}")), graph: gz(nil)}, "graph", 267},
			{"varint of eleven bytes", onlyGraph(rawVarint(99, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0)), "graph", 258},
			{"varint of ten bytes that overflows", onlyGraph(rawVarint(99, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2)), "graph", 258},
			{"varint that ends early", onlyGraph(rawVarint(99, 0x80)), "graph", 258},
			{"packed varint that ends early", onlyTensor(st(1, "w"), by(2, []byte{0x80}), vi(3, 1), by(4, four)), "tensor.tensors[0].dims", 263},
			{"length beyond the message", node1([]byte{0x0a, 5, 'a'}), "graph.nodes[1].name", 260},
			{"length of 2^64-1", node1(cat([]byte{0x0a}, protowire.AppendVarint(nil, 1<<64-1))), "graph.nodes[1].name", 260},
			{"field number 0", onlyGraph([]byte{0x00, 0}), "graph", 256},
			{"field number 2^29", onlyGraph(cat(protowire.AppendVarint(nil, 1<<32), []byte{0})), "graph", 256},
			{"unknown group", onlyGraph(group(99)), "graph", 256},
			{"wire type 6", onlyGraph([]byte{99<<3&0x7f | 6}), "graph.inputs[0]", 256},
			{"fixed32 that ends early", onlyGraph([]byte{13<<3 | 5, 1, 2, 3}), "graph", 256},
			{"fixed64 that ends early", onlyGraph([]byte{13<<3 | 1, 1, 2, 3, 4, 5, 6, 7}), "graph", 256},
			{"name as varint", onlyGraph(vi(1, 1)), "graph.name", 256},
			{"dtype as bytes", onlyTensor(st(1, "w"), dims(1), st(3, "\x01"), by(4, four)), "tensor.tensors[0].dtype", 264},
			{"padding as varint", container{tensor: vi(15, 0)}, "tensor.padding", 256},
			{"floats of five bytes", attr(by(7, make([]byte, 5))), "graph.nodes[1].attributes[1].floats", 267},
			{"enum of 2^31", attr(vi(20, 1<<31)), "graph.nodes[1].attributes[1].type", 267},
			{"enum below int32", attr(vi(20, -1<<31-1)), "graph.nodes[1].attributes[1].type", 267},
			{"UTF-8 in op_type", onlyGraph(by(2, st(1, "n"), st(2, "Re\xfflu"))), "graph.nodes[0].op_type", 261},
			{"UTF-8 in a graph's name", onlyGraph(st(1, "\xff")), "graph.name", 256},
			{"UTF-8 in a tensor's doc string", onlyTensor(decl("w", 1, 1), by(4, four), by(6, st(1, "\xff"))), "tensor.tensors[0].metadata.doc_string", 274},
			{"NUL in a property's key", onlyGraph(by(6, by(1, st(1, "k\x00")))), "graph.metadata.properties[0].key", 260},
			{"NUL in a tensor's name", onlyTensor(decl("w\x00", 1, 1), by(4, four)), "tensor.tensors[0].name", 258},
			{"both arms of a dimension", onlyGraph(by(3, by(2, by(1, by(2, by(1, vi(1, 1), st(2, "n"))))))), "graph.inputs[0].type.tensor_type.shape.dim[0].dim_param", 268},
			{"101 levels", onlyGraph(nestedGraphs(33, by(2))), "graph" + strings.Repeat(".nodes[0].attributes[0].g", 33) + ".nodes[0]", 492},
			{"empty tensor name", onlyTensor(dims(1), vi(3, 1), by(4, four)), "tensor.tensors[0].name", 256},
			{"raw_data too short", onlyTensor(decl("w", 1, 1), by(4, four[:3])), "tensor.tensors[0].raw_data", 266},
			{"raw_data too long", onlyTensor(decl("w", 1, 1), by(4, four, four)), "tensor.tensors[0].raw_data", 266},
			{"no data", onlyTensor(decl("w", 1, 1)), "tensor.tensors[0].raw_data", 256},
			{"raw_data of an empty tensor", onlyTensor(decl("w", 1, 0), by(4, four)), "tensor.tensors[0].raw_data", 266},
			{"both arms", onlyTensor(decl("w", 1, 1), by(4, four), by(5, st(1, "f"), vi(3, 4))), "tensor.tensors[0].external_data", 272},
			{"both arms, the other order", onlyTensor(decl("w", 1, 1), by(5, st(1, "f"), vi(3, 4)), by(4, four)), "tensor.tensors[0].raw_data", 273},
			{"tensor twice", container{tensor: cat(by(1, w), by(1, w))}, "tensor.tensors[1].name", 272},
			{"tensor and compressed tensor", container{tensor: cat(by(2, by(1, decl("w", 1, 1)), vi(2, 1), by(3, gz(four)), vi(4, 4)), by(1, w))}, "tensor.tensors[0].name", 301},
			{"tensor and initializer with data", container{tensor: by(1, w), graph: by(5, w)}, "tensor.tensors[0].name", 272},
			{"initializer with data twice", container{graph: cat(by(5, w), by(5, w))}, "graph.initializers[1].name", 272},
			{"initializer declared twice", container{tensor: by(1, w), graph: cat(by(5, decl("w", 1, 1)), by(5, decl("w", 1, 1)))}, "graph.initializers[1].name", 266},
			{"initializer without data anywhere", container{tensor: by(1, w), graph: by(5, decl("v", 1, 1))}, "graph.initializers[0]", 256},
			{"empty initializer without data anywhere", container{graph: by(5, decl("v", 1, 0))}, "graph.initializers[0]", 256},
			{"initializer without name", container{tensor: by(1, w), graph: by(5, dims(1), vi(3, 1))}, "graph.initializers[0].name", 256},
			{"initializer of another shape", container{tensor: by(1, w), graph: by(5, decl("w", 1, 1, 1))}, "graph.initializers[0].dims", 256},
			{"initializer of another dtype", container{tensor: by(1, w), graph: by(5, decl("w", 5, 1))}, "graph.initializers[0].dtype", 256},
			{"inputs repeat", onlyGraph(by(3, st(1, "x")), by(3, st(1, "x"))), "graph.inputs", 256},
			{"outputs repeat", onlyGraph(by(4, st(1, "x")), by(4, st(1, "x"))), "graph.outputs", 256},
			{"attributes repeat", node1(by(5, st(1, "a")), by(5, st(1, "b")), by(5, st(1, "a"))), "graph.nodes[1].attributes", 258},
			{"subgraph: inputs repeat", attr(by(6, by(3, st(1, "x")), by(3, st(1, "x")))), "graph.nodes[1].attributes[1].g.inputs", 267},
			{"subgraph in two pieces: inputs repeat", attr(by(6, by(3, st(1, "x"))), by(6, by(3, st(1, "x")))), "graph.nodes[1].attributes[1].g.inputs", 267},
			{"subgraph: initializers repeat", container{tensor: by(1, w), graph: by(2, by(5, by(6, by(5, decl("w", 1, 1)), by(5, decl("w", 1, 1)))))}, "graph.nodes[0].attributes[0].g.initializers", 260},
			{"subgraph: initializer without data", attr(by(11), by(11, by(5, decl("w", 1, 1)))), "graph.nodes[1].attributes[1].graphs[1].initializers[0]", 271},
			{"subgraph: initializer of another shape", container{tensor: by(1, w), graph: by(2, by(5, by(6, by(5, decl("w", 1, 2)))))}, "graph.nodes[0].attributes[0].g.initializers[0].dims", 262},
			{"attribute tensor: no data", attr(by(5, decl("", 1, 1))), "graph.nodes[1].attributes[1].t.raw_data", 265},
			{"attribute tensor: both arms in two pieces", attr(by(5, inline("", 1, four, 1)), by(5, by(5, st(1, "f"), vi(3, 4)))), "graph.nodes[1].attributes[1].t.external_data", 284},
			{"attribute tensors: wrong size", attr(by(10, inline("", 1, four, 1)), by(10, inline("", 1, four, 2))), "graph.nodes[1].attributes[1].tensors[1].raw_data", 291},
			{"compressed: inner raw_data", container{tensor: by(2, by(1, w), vi(2, 1), by(3, gz(four)), vi(4, 4))}, "tensor.compressed_tensors[0].tensor", 256},
			{"compressed: inner empty raw_data", container{tensor: by(2, by(1, decl("w", 1, 0), by(4)), vi(2, 1))}, "tensor.compressed_tensors[0].tensor", 256},
			{"compressed: another size", container{tensor: by(2, by(1, decl("w", 1, 1)), vi(2, 1), by(3, gz(four)), vi(4, 5))}, "tensor.compressed_tensors[0].uncompressed_size", 256},
			{"compressed: no data", container{tensor: by(2, by(1, decl("w", 1, 1)), vi(2, 1), vi(4, 4))}, "tensor.compressed_tensors[0].compressed_data", 256},
			{"compressed by nothing, another size", container{tensor: by(2, by(1, decl("w", 1, 1)), by(3, four[:2]), vi(4, 4))}, "tensor.compressed_tensors[0].compressed_data", 256},
			{"external: no location", externally(vi(3, 4)), "tensor.tensors[0].external_data.location", 256},
			{"external: no length", externally(st(1, "f")), "tensor.tensors[0].external_data.length", 256},
			{"external: wrong length", externally(st(1, "f"), vi(3, 8)), "tensor.tensors[0].external_data.length", 256},
			{"external: negative offset", externally(st(1, "f"), vi(2, -1), vi(3, 4)), "tensor.tensors[0].external_data.offset", 256},
			{"external: overflowing offset", externally(st(1, "f"), vi(2, 1<<63-2), vi(3, 4)), "tensor.tensors[0].external_data.offset", 256},
			{"external: checksum not hexadecimal", externally(st(1, "f"), vi(3, 4), st(4, "sha256:"+strings.Repeat("g", 64))), "tensor.tensors[0].external_data.checksum", 256},
			{"external: checksum of another kind", externally(st(1, "f"), vi(3, 4), st(4, "SHA256:"+strings.Repeat("a", 64))), "tensor.tensors[0].external_data.checksum", 256},
			{"external: checksum without its kind", externally(st(1, "f"), vi(3, 4), st(4, strings.Repeat("a", 64))), "tensor.tensors[0].external_data.checksum", 256},
			{"external: checksum of 31 bytes", externally(st(1, "f"), vi(3, 4), st(4, "sha256:"+strings.Repeat("a", 62))), "tensor.tensors[0].external_data.checksum", 256},
			{"checksum missing", sums(sum("header", 32), sum("metadata", 32), sum("tensor", 32)), "signature.checksums", 256},
			{"checksum twice", sums(sum("header", 32), sum("metadata", 32), sum("graph", 32), sum("tensor", 32), sum("graph", 32)), "signature.checksums[4].block_type", 433},
			{"checksum of 31 bytes", sums(sum("header", 32), sum("metadata", 31), sum("graph", 32), sum("tensor", 32)), "signature.checksums[1].sha256", 300},
			{"signature as string", sums(sum("header", 32), sum("metadata", 32), sum("graph", 32), sum("tensor", 32), vi(2, 1)), "signature.signature", 433},
			{"signature: UTF-8", sums(sum("header", 32), sum("metadata", 32), sum("graph", 32), sum("tensor", 32), by(2, st(1, "\xff"))), "signature.signature.algorithm", 435},
		}},
		{format.ErrShape, []malformedFile{
			{"negative dim", onlyTensor(decl("w", 1, -1), by(4, four)), "tensor.tensors[0].dims", 256},
			{"negative dim beside zero", onlyTensor(decl("w", 1, 0, -1), by(4)), "tensor.tensors[0].dims", 256},
			{"overflowing dims", onlyTensor(decl("w", 1, 1<<32, 1<<31), by(4, four)), "tensor.tensors[0].dims", 256},
			{"overflowing dims beside zero", onlyTensor(decl("w", 1, 1<<32, 0, 1<<31), by(4)), "tensor.tensors[0].dims", 256},
		}},
	}
}

// checkError fails unless err wraps want and names the field and an offset within
// the file.
func checkError(t *testing.T, err, want error, field string, size int64) {
	t.Helper()
	var e *tensor.Error
	if !errors.As(err, &e) || !errors.Is(err, want) {
		t.Fatalf("%v, want %v", err, want)
	}
	if !strings.HasPrefix(e.Field, field) || e.Format != "wia" {
		t.Errorf("field %q of %q, want %q: %v", e.Field, e.Format, field, err)
	}
	if e.Offset < 0 || e.Offset > size {
		t.Errorf("offset %d of %d: %v", e.Offset, size, err)
	}
}
