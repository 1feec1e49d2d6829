package wia

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// group is a group field with one varint in it.
func group(num protowire.Number) []byte {
	b := protowire.AppendTag(nil, num, protowire.StartGroupType)
	b = append(b, vi(1, 1)...)
	return protowire.AppendTag(b, num, protowire.EndGroupType)
}

// raw is a field with a varint value given as bytes.
func rawVarint(num protowire.Number, value ...byte) []byte {
	return append(protowire.AppendTag(nil, num, protowire.VarintType), value...)
}

// overlong is v with needless bytes, ten in all.
func overlong(num protowire.Number, v byte) []byte {
	return rawVarint(num, v|0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0)
}

// nestedGraphs is a graph with n graphs inside one another, the innermost
// holding the given fields: it lies at level 3n+1.
func nestedGraphs(n int, innermost ...[]byte) []byte {
	g := cat(innermost...)
	for range n {
		g = by(2, by(5, by(6, g)))
	}
	return g
}

func put64(h []byte, at int, v uint64) { binary.LittleEndian.PutUint64(h[at:], v) }

// one tensor of four bytes.
func onlyTensor(fields ...[]byte) container { return container{tensor: by(1, fields...)} }

func onlyGraph(fields ...[]byte) container { return container{graph: cat(fields...)} }

func node1(fields ...[]byte) container { return onlyGraph(by(2), by(2, fields...)) }

// attr is an attribute of the second node.
func attr(fields ...[]byte) container {
	return node1(by(5, st(1, "a")), by(5, fields...))
}

func externally(fields ...[]byte) container {
	return onlyTensor(decl("w", 1, 1), by(5, fields...))
}

func TestMalformed(t *testing.T) {
	four := []byte{1, 2, 3, 4}
	w := inline("w", 1, four, 1)
	wb := container{tensor: by(1, w)}
	header := func(f func(h []byte)) container {
		c := small()
		c.patch = f
		return c
	}
	meta := func(s string) container { return container{meta: []byte(s)} }
	sums := func(fields ...[]byte) container { return container{sig: cat(fields...)} }
	sum := func(name string, n int) []byte { return by(1, st(1, name), by(2, make([]byte, n))) }
	tests := []struct {
		name  string
		c     container
		want  error
		field string
	}{
		{"magic", header(func(h []byte) { h[0] = 0x32 }), format.ErrMagic, "magic"},
		{"magic in big-endian hexadecimal order is WIA1 and fine, others not", header(func(h []byte) { copy(h, "WIA2") }), format.ErrMagic, "magic"},
		{"major 0", header(func(h []byte) { h[4] = 0 }), format.ErrVersion, "version_major"},
		{"major 2", header(func(h []byte) { h[4] = 2 }), format.ErrVersion, "version_major"},
		{"major 257", header(func(h []byte) { h[5] = 1 }), format.ErrVersion, "version_major"},
		{"compression 3", header(func(h []byte) { h[72] = 3 }), format.ErrUnsupported, "compression"},
		{"compression 255", header(func(h []byte) { h[72] = 255 }), format.ErrUnsupported, "compression"},
		{"encryption 2", header(func(h []byte) { h[73] = 2 }), format.ErrUnsupported, "encryption"},
		{"encryption 255", header(func(h []byte) { h[73] = 255 }), format.ErrUnsupported, "encryption"},
		{"metadata offset beyond the file", header(func(h []byte) { put64(h, 8, 1<<40) }), tensor.ErrTruncated, "metadata_offset"},
		{"metadata offset at the top", header(func(h []byte) { put64(h, 8, 1<<64-1) }), tensor.ErrTruncated, "metadata_offset"},
		{"graph size beyond the file", header(func(h []byte) { put64(h, 32, 1<<20) }), tensor.ErrTruncated, "graph_size"},
		{"tensor size that overflows", header(func(h []byte) { put64(h, 48, 1<<64-1) }), tensor.ErrTruncated, "tensor_size"},
		{"signature offset beyond the file", header(func(h []byte) { put64(h, 56, 1<<63) }), tensor.ErrTruncated, "signature_offset"},
		{"empty block beyond the file", container{patch: func(h []byte) { put64(h, 8, 1<<20) }}, tensor.ErrTruncated, "metadata_offset"},
		{"metadata inside the header", header(func(h []byte) { put64(h, 8, 255); put64(h, 16, 1) }), tensor.ErrCorrupt, "metadata_offset"},
		{"graph over metadata", header(func(h []byte) { put64(h, 24, 256) }), tensor.ErrCorrupt, "graph_offset"},
		{"signature over graph", header(func(h []byte) { put64(h, 56, binary.LittleEndian.Uint64(h[24:])) }), tensor.ErrCorrupt, "signature_offset"},

		{"metadata: array", meta(`[]`), tensor.ErrCorrupt, "metadata"},
		{"metadata: white space only", meta(` `), tensor.ErrCorrupt, "metadata"},
		{"metadata: byte order mark", meta("\ufeff{}"), tensor.ErrCorrupt, "metadata"},
		{"metadata: lone surrogate", meta(`{"a":"\udead"}`), tensor.ErrCorrupt, "metadata"},
		{"metadata: duplicate key", meta(`{"a":1,"a":1}`), tensor.ErrCorrupt, "metadata"},
		{"metadata: NUL in a key", meta(`{"\u0000":1}`), tensor.ErrCorrupt, "metadata"},
		{"metadata: 1001 levels", meta(`{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}"), tensor.ErrCorrupt, "metadata"},
		{"metadata: two objects", meta(`{}{}`), tensor.ErrCorrupt, "metadata"},
		{"metadata: UTF-8", meta("{\"\xff\":1}"), tensor.ErrCorrupt, "metadata"},
		{"metadata: empty but compressed", container{compression: 1, graph: gz(nil)}, tensor.ErrCorrupt, "metadata"},
		{"metadata: nothing compressed", container{compression: 1, meta: gz(nil), graph: gz(nil)}, tensor.ErrCorrupt, "metadata"},
		{"metadata: two gzip members", container{compression: 1, meta: cat(gz([]byte("{}")), gz([]byte(" "))), graph: gz(nil)}, tensor.ErrCorrupt, "metadata"},
		{"metadata: bytes after gzip", container{compression: 1, meta: cat(gz([]byte("{}")), []byte{0}), graph: gz(nil)}, tensor.ErrCorrupt, "metadata"},
		{"metadata: not gzip", container{compression: 1, meta: []byte("{}"), graph: gz(nil)}, tensor.ErrCorrupt, "metadata"},
		{"graph: not zstd", container{compression: 2, meta: []byte("{}"), graph: gz(nil)}, tensor.ErrCorrupt, "metadata"},
		{"graph: empty but compressed", container{compression: 1, meta: gz([]byte("{}"))}, tensor.ErrCorrupt, "graph"},

		{"varint of eleven bytes", onlyGraph(rawVarint(99, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0)), tensor.ErrCorrupt, "graph"},
		{"varint of ten bytes that overflows", onlyGraph(rawVarint(99, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2)), tensor.ErrCorrupt, "graph"},
		{"varint that ends early", onlyGraph(rawVarint(99, 0x80)), tensor.ErrCorrupt, "graph"},
		{"packed varint that ends early", onlyTensor(st(1, "w"), by(2, []byte{0x80}), vi(3, 1), by(4, four)), tensor.ErrCorrupt, "tensor.tensors[0].dims"},
		{"length beyond the message", node1([]byte{0x0a, 5, 'a'}), tensor.ErrCorrupt, "graph.nodes[1].name"},
		{"length of 2^63", node1(cat([]byte{0x0a}, protowire.AppendVarint(nil, 1<<63))), tensor.ErrCorrupt, "graph.nodes[1].name"},
		{"length of 2^64-1", node1(cat([]byte{0x0a}, protowire.AppendVarint(nil, 1<<64-1))), tensor.ErrCorrupt, "graph.nodes[1].name"},
		{"field number 0", onlyGraph([]byte{0x00, 0}), tensor.ErrCorrupt, "graph"},
		{"field number 2^29", onlyGraph(cat(protowire.AppendVarint(nil, 1<<32), []byte{0})), tensor.ErrCorrupt, "graph"},
		{"wire type 6", onlyGraph([]byte{99<<3&0x7f | 6}), tensor.ErrCorrupt, "graph"},
		{"wire type 7", node1([]byte{1<<3 | 7}), tensor.ErrCorrupt, "graph.nodes[1].name"},
		{"unknown group", onlyGraph(group(99)), tensor.ErrCorrupt, "graph"},
		{"group as name", node1(group(1)), tensor.ErrCorrupt, "graph.nodes[1].name"},
		{"end of a group", onlyGraph([]byte{99<<3&0x7f | 4}), tensor.ErrCorrupt, "graph"},
		{"fixed32 that ends early", onlyGraph([]byte{13<<3 | 5, 1, 2, 3}), tensor.ErrCorrupt, "graph"},
		{"fixed64 that ends early", onlyGraph([]byte{13<<3 | 1, 1, 2, 3, 4, 5, 6, 7}), tensor.ErrCorrupt, "graph"},
		{"name as varint", onlyGraph(vi(1, 1)), tensor.ErrCorrupt, "graph.name"},
		{"node as varint", onlyGraph(vi(2, 1)), tensor.ErrCorrupt, "graph.nodes[0]"},
		{"dtype as bytes", onlyTensor(st(1, "w"), dims(1), st(3, "\x01"), by(4, four)), tensor.ErrCorrupt, "tensor.tensors[0].dtype"},
		{"raw_data as varint", onlyTensor(decl("w", 1, 1), vi(4, 1)), tensor.ErrCorrupt, "tensor.tensors[0].raw_data"},
		{"dims as fixed32", onlyTensor(st(1, "w"), fl(2, 1), vi(3, 1), by(4, four)), tensor.ErrCorrupt, "tensor.tensors[0].dims"},
		{"padding as varint", container{tensor: vi(15, 0)}, tensor.ErrCorrupt, "tensor.padding"},
		{"float as varint", attr(vi(2, 1)), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].f"},
		{"floats of five bytes", attr(by(7, make([]byte, 5))), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].floats"},
		{"int as bytes", attr(st(3, "")), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].i"},
		{"enum of 2^31", attr(vi(20, 1<<31)), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].type"},
		{"enum of 2^40", onlyTensor(st(1, "w"), dims(1), vi(3, 1<<40|1), by(4, four)), tensor.ErrCorrupt, "tensor.tensors[0].dtype"},
		{"enum below int32", attr(vi(20, -1<<31-1)), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].type"},
		{"UTF-8 in a graph's name", onlyGraph(st(1, "\xff")), tensor.ErrCorrupt, "graph.name"},
		{"UTF-8 in a doc string", node1(st(6, "\xc0\x80")), tensor.ErrCorrupt, "graph.nodes[1].doc_string"},
		{"UTF-8 in an edge", node1(st(3, "a"), st(3, "\xff")), tensor.ErrCorrupt, "graph.nodes[1].inputs[1]"},
		{"UTF-8 in a property", onlyGraph(by(6, by(1, st(1, "k"), st(2, "\xff")))), tensor.ErrCorrupt, "graph.metadata.properties[0].value"},
		{"UTF-8 in a symbol", onlyGraph(by(3, by(2, by(1, by(2, by(1), by(1, st(2, "\xff"))))))), tensor.ErrCorrupt, "graph.inputs[0].type.tensor_type.shape.dim[1].dim_param"},
		{"UTF-8 in a tensor's doc string", onlyTensor(decl("w", 1, 1), by(4, four), by(6, st(1, "\xff"))), tensor.ErrCorrupt, "tensor.tensors[0].metadata.doc_string"},
		{"NUL in a property's key", onlyGraph(by(6, by(1, st(1, "k\x00")))), tensor.ErrCorrupt, "graph.metadata.properties[0].key"},
		{"NUL in a tensor's name", onlyTensor(decl("w\x00", 1, 1), by(4, four)), tensor.ErrCorrupt, "tensor.tensors[0].name"},
		{"NUL in an attribute's name", attr(st(1, "a\x00")), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].name"},
		{"both arms of a dimension", onlyGraph(by(3, by(2, by(1, by(2, by(1, vi(1, 1), st(2, "n"))))))), tensor.ErrCorrupt, "graph.inputs[0].type.tensor_type.shape.dim[0].dim_param"},
		{"nested 1000 deep", onlyGraph(nestedGraphs(1000)), tensor.ErrCorrupt, "graph.nodes[0].attributes[0].g.nodes[0]"},
		{"100 levels", onlyGraph(nestedGraphs(33)), nil, ""},
		{"101 levels", onlyGraph(nestedGraphs(33, by(2))), tensor.ErrCorrupt, "graph.nodes[0].attributes[0].g.nodes[0]"},
		{"102 levels", onlyGraph(nestedGraphs(34)), tensor.ErrCorrupt, "graph.nodes[0].attributes[0].g.nodes[0]"},

		{"empty tensor name", onlyTensor(dims(1), vi(3, 1), by(4, four)), tensor.ErrCorrupt, "tensor.tensors[0].name"},
		{"dtype 0", onlyTensor(st(1, "w"), dims(1), by(4, four)), format.ErrUnsupported, "tensor.tensors[0].dtype"},
		{"dtype 11", onlyTensor(decl("w", 11, 1), by(4, four)), format.ErrUnsupported, "tensor.tensors[0].dtype"},
		{"dtype -1", onlyTensor(decl("w", -1, 1), by(4, four)), format.ErrUnsupported, "tensor.tensors[0].dtype"},
		{"negative dim", onlyTensor(decl("w", 1, -1), by(4, four)), tensor.ErrShape, "tensor.tensors[0].dims"},
		{"negative dim beside zero", onlyTensor(decl("w", 1, 0, -1), by(4)), tensor.ErrShape, "tensor.tensors[0].dims"},
		{"overflowing dims", onlyTensor(decl("w", 1, 1<<32, 1<<31), by(4, four)), tensor.ErrShape, "tensor.tensors[0].dims"},
		{"overflowing dims beside zero", onlyTensor(decl("w", 1, 1<<32, 0, 1<<31), by(4)), tensor.ErrShape, "tensor.tensors[0].dims"},
		{"raw_data too short", onlyTensor(decl("w", 1, 1), by(4, four[:3])), tensor.ErrCorrupt, "tensor.tensors[0].raw_data"},
		{"raw_data too long", onlyTensor(decl("w", 1, 1), by(4, four, four)), tensor.ErrCorrupt, "tensor.tensors[0].raw_data"},
		{"no data", onlyTensor(decl("w", 1, 1)), tensor.ErrCorrupt, "tensor.tensors[0].raw_data"},
		{"raw_data of an empty tensor", onlyTensor(decl("w", 1, 0), by(4, four)), tensor.ErrCorrupt, "tensor.tensors[0].raw_data"},
		{"both arms", onlyTensor(decl("w", 1, 1), by(4, four), by(5, st(1, "f"), vi(3, 4))), tensor.ErrCorrupt, "tensor.tensors[0].external_data"},
		{"both arms, the other order", onlyTensor(decl("w", 1, 1), by(5, st(1, "f"), vi(3, 4)), by(4, four)), tensor.ErrCorrupt, "tensor.tensors[0].raw_data"},
		{"tensor twice", container{tensor: cat(by(1, w), by(1, w))}, tensor.ErrCorrupt, "tensor.tensors[1].name"},
		{"tensor and compressed tensor", container{tensor: cat(by(2, by(1, decl("w", 1, 1)), vi(2, 1), by(3, gz(four)), vi(4, 4)), by(1, w))}, tensor.ErrCorrupt, "tensor.tensors[0].name"},
		{"tensor and initializer with data", container{tensor: by(1, w), graph: by(5, w)}, tensor.ErrCorrupt, "tensor.tensors[0].name"},
		{"initializer with data twice", container{graph: cat(by(5, w), by(5, w))}, tensor.ErrCorrupt, "graph.initializers[1].name"},
		{"initializer declared twice", container{tensor: by(1, w), graph: cat(by(5, decl("w", 1, 1)), by(5, decl("w", 1, 1)))}, tensor.ErrCorrupt, "graph.initializers[1].name"},
		{"initializer with data declared again", container{graph: cat(by(5, w), by(5, decl("w", 1, 1)))}, tensor.ErrCorrupt, "graph.initializers[1].name"},
		{"initializer without data anywhere", container{tensor: by(1, w), graph: by(5, decl("v", 1, 1))}, tensor.ErrCorrupt, "graph.initializers[0]"},
		{"empty initializer without data anywhere", container{graph: by(5, decl("v", 1, 0))}, tensor.ErrCorrupt, "graph.initializers[0]"},
		{"initializer without name", container{tensor: by(1, w), graph: by(5, dims(1), vi(3, 1))}, tensor.ErrCorrupt, "graph.initializers[0].name"},
		{"initializer of another shape", container{tensor: by(1, w), graph: by(5, decl("w", 1, 1, 1))}, tensor.ErrCorrupt, "graph.initializers[0].dims"},
		{"initializer of another dtype", container{tensor: by(1, w), graph: by(5, decl("w", 5, 1))}, tensor.ErrCorrupt, "graph.initializers[0].dtype"},
		{"initializer with data of the wrong size", container{graph: by(5, inline("w", 1, four, 2))}, tensor.ErrCorrupt, "graph.initializers[0].raw_data"},
		{"inputs repeat", onlyGraph(by(3, st(1, "x")), by(3, st(1, "x"))), tensor.ErrCorrupt, "graph.inputs"},
		{"outputs repeat", onlyGraph(by(4, st(1, "x")), by(4, st(1, "x"))), tensor.ErrCorrupt, "graph.outputs"},
		{"attributes repeat", node1(by(5, st(1, "a")), by(5, st(1, "b")), by(5, st(1, "a"))), tensor.ErrCorrupt, "graph.nodes[1].attributes"},
		{"subgraph: inputs repeat", attr(by(6, by(3, st(1, "x")), by(3, st(1, "x")))), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].g.inputs"},
		{"subgraph in two pieces: inputs repeat", attr(by(6, by(3, st(1, "x"))), by(6, by(3, st(1, "x")))), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].g.inputs"},
		{"subgraph: initializers repeat", container{tensor: by(1, w), graph: by(2, by(5, by(6, by(5, decl("w", 1, 1)), by(5, decl("w", 1, 1)))))}, tensor.ErrCorrupt, "graph.nodes[0].attributes[0].g.initializers"},
		{"subgraph: initializer without data", attr(by(11), by(11, by(5, decl("w", 1, 1)))), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].graphs[1].initializers[0]"},
		{"subgraph: initializer of another shape", container{tensor: by(1, w), graph: by(2, by(5, by(6, by(5, decl("w", 1, 2)))))}, tensor.ErrCorrupt, "graph.nodes[0].attributes[0].g.initializers[0].dims"},
		{"subgraph: data of the wrong size", attr(by(6, by(5, inline("w", 1, four, 2)))), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].g.initializers[0].raw_data"},
		{"attribute tensor: negative dim", attr(by(5, inline("", 1, four, -1))), tensor.ErrShape, "graph.nodes[1].attributes[1].t.dims"},
		{"attribute tensor: wrong size", attr(by(5, inline("", 1, four, 2))), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].t.raw_data"},
		{"attribute tensor: no data", attr(by(5, decl("", 1, 1))), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].t.raw_data"},
		{"attribute tensor: both arms in two pieces", attr(by(5, inline("", 1, four, 1)), by(5, by(5, st(1, "f"), vi(3, 4)))), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].t.external_data"},
		{"attribute tensors: wrong size", attr(by(10, inline("", 1, four, 1)), by(10, inline("", 1, four, 2))), tensor.ErrCorrupt, "graph.nodes[1].attributes[1].tensors[1].raw_data"},

		{"compressed: inner raw_data", container{tensor: by(2, by(1, w), vi(2, 1), by(3, gz(four)), vi(4, 4))}, tensor.ErrCorrupt, "tensor.compressed_tensors[0].tensor"},
		{"compressed: inner empty raw_data", container{tensor: by(2, by(1, decl("w", 1, 0), by(4)), vi(2, 1))}, tensor.ErrCorrupt, "tensor.compressed_tensors[0].tensor"},
		{"compressed: inner external data", container{tensor: by(2, by(1, decl("w", 1, 1), by(5, st(1, "f"), vi(3, 4))), vi(2, 1), by(3, gz(four)), vi(4, 4))}, tensor.ErrCorrupt, "tensor.compressed_tensors[0].tensor"},
		{"compressed: another size", container{tensor: by(2, by(1, decl("w", 1, 1)), vi(2, 1), by(3, gz(four)), vi(4, 5))}, tensor.ErrCorrupt, "tensor.compressed_tensors[0].uncompressed_size"},
		{"compressed: no size", container{tensor: by(2, by(1, decl("w", 1, 1)), vi(2, 1), by(3, gz(four)))}, tensor.ErrCorrupt, "tensor.compressed_tensors[0].uncompressed_size"},
		{"compressed: codec 3", container{tensor: by(2, by(1, decl("w", 1, 1)), vi(2, 3), by(3, gz(four)), vi(4, 4))}, format.ErrUnsupported, "tensor.compressed_tensors[0].compression"},
		{"compressed: codec -1", container{tensor: by(2, by(1, decl("w", 1, 1)), vi(2, -1), by(3, gz(four)), vi(4, 4))}, format.ErrUnsupported, "tensor.compressed_tensors[0].compression"},
		{"compressed: no data", container{tensor: by(2, by(1, decl("w", 1, 1)), vi(2, 1), vi(4, 4))}, tensor.ErrCorrupt, "tensor.compressed_tensors[0].compressed_data"},
		{"compressed: no tensor", container{tensor: by(2, vi(2, 1), by(3, gz(four)), vi(4, 4))}, tensor.ErrCorrupt, "tensor.compressed_tensors[0].name"},
		{"compressed by nothing, another size", container{tensor: by(2, by(1, decl("w", 1, 1)), by(3, four[:2]), vi(4, 4))}, tensor.ErrCorrupt, "tensor.compressed_tensors[0].compressed_data"},

		{"external: no location", externally(vi(3, 4)), tensor.ErrCorrupt, "tensor.tensors[0].external_data.location"},
		{"external: no length", externally(st(1, "f")), tensor.ErrCorrupt, "tensor.tensors[0].external_data.length"},
		{"external: wrong length", externally(st(1, "f"), vi(3, 8)), tensor.ErrCorrupt, "tensor.tensors[0].external_data.length"},
		{"external: negative length", externally(st(1, "f"), vi(3, -4)), tensor.ErrCorrupt, "tensor.tensors[0].external_data.length"},
		{"external: negative offset", externally(st(1, "f"), vi(2, -1), vi(3, 4)), tensor.ErrCorrupt, "tensor.tensors[0].external_data.offset"},
		{"external: overflowing offset", externally(st(1, "f"), vi(2, 1<<63-2), vi(3, 4)), tensor.ErrCorrupt, "tensor.tensors[0].external_data.offset"},
		{"external: checksum without prefix", externally(st(1, "f"), vi(3, 4), st(4, strings.Repeat("a", 64))), tensor.ErrCorrupt, "tensor.tensors[0].external_data.checksum"},
		{"external: short checksum", externally(st(1, "f"), vi(3, 4), st(4, "sha256:"+strings.Repeat("a", 63))), tensor.ErrCorrupt, "tensor.tensors[0].external_data.checksum"},
		{"external: long checksum", externally(st(1, "f"), vi(3, 4), st(4, "sha256:"+strings.Repeat("a", 65))), tensor.ErrCorrupt, "tensor.tensors[0].external_data.checksum"},
		{"external: checksum not hexadecimal", externally(st(1, "f"), vi(3, 4), st(4, "sha256:"+strings.Repeat("g", 64))), tensor.ErrCorrupt, "tensor.tensors[0].external_data.checksum"},
		{"external: checksum of another kind", externally(st(1, "f"), vi(3, 4), st(4, "SHA256:"+strings.Repeat("a", 64))), tensor.ErrCorrupt, "tensor.tensors[0].external_data.checksum"},

		{"checksum missing", sums(sum("header", 32), sum("metadata", 32), sum("tensor", 32)), tensor.ErrCorrupt, "signature.checksums"},
		{"checksum twice", sums(sum("header", 32), sum("metadata", 32), sum("graph", 32), sum("tensor", 32), sum("graph", 32)), tensor.ErrCorrupt, "signature.checksums[4].block_type"},
		{"checksum of 31 bytes", sums(sum("header", 32), sum("metadata", 31), sum("graph", 32), sum("tensor", 32)), tensor.ErrCorrupt, "signature.checksums[1].sha256"},
		{"checksum of no bytes", sums(sum("header", 32), sum("metadata", 32), sum("graph", 32), by(1, st(1, "tensor"))), tensor.ErrCorrupt, "signature.checksums[3].sha256"},
		{"padding alone", sums(by(15, four)), tensor.ErrCorrupt, "signature.checksums"},
		{"signature as string", sums(sum("header", 32), sum("metadata", 32), sum("graph", 32), sum("tensor", 32), vi(2, 1)), tensor.ErrCorrupt, "signature.signature"},
		{"signature: UTF-8", sums(sum("header", 32), sum("metadata", 32), sum("graph", 32), sum("tensor", 32), by(2, st(1, "\xff"))), tensor.ErrCorrupt, "signature.signature.algorithm"},
		{"fine", wb, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.c.bytes()
			f, err := OpenBytes(b, nil)
			if tt.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				f.Close()
				return
			}
			checkError(t, err, tt.want, tt.field, int64(len(b)))
			if _, err := OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil); !errors.Is(err, tt.want) {
				t.Errorf("behind a reader: %v", err)
			}
		})
	}
}

// checkError demands an error of the wanted kind at a field within the file.
func checkError(t *testing.T, err, want error, field string, size int64) {
	t.Helper()
	var e *format.Error
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

func TestTruncatedFile(t *testing.T) {
	b := small().bytes()
	for n := range b {
		if _, err := OpenBytes(b[:n], nil); err == nil {
			t.Fatalf("the first %d of %d bytes open", n, len(b))
		}
	}
	if _, err := OpenBytes(append(b, 0), nil); !errors.Is(err, tensor.ErrCorrupt) {
		t.Errorf("a byte after the last block: %v", err)
	}
}

func TestErrorOffsets(t *testing.T) {
	c := onlyGraph(by(2), by(2, st(1, "n"), by(5, st(1, "a"), by(5, inline("", 1, nil, -1)))))
	_, err := OpenBytes(c.bytes(), nil)
	var e *format.Error
	if !errors.As(err, &e) || e.Field != "graph.nodes[1].attributes[0].t.dims" {
		t.Fatal(err)
	}
	// Header, empty node, second node's tag and length, its name: the attribute.
	if want := int64(256 + 2 + 2 + 3); e.Offset != want {
		t.Errorf("offset %d, want %d", e.Offset, want)
	}
	c.compression, c.meta, c.graph = 1, gz([]byte("{}")), gz(c.graph)
	_, err = OpenBytes(c.bytes(), nil)
	if !errors.As(err, &e) || e.Offset != int64(256+len(c.meta)) || !strings.Contains(err.Error(), "at byte 7 of the decoded block") {
		t.Errorf("compressed: %v", err)
	}
}

func TestLimits(t *testing.T) {
	big := bytes.Repeat([]byte{' '}, 1000)
	c := container{compression: 1, meta: gz(cat([]byte("{}"), big)), graph: gz(by(1, big))}
	tests := []struct {
		name string
		o    format.Options
		ok   bool
	}{
		{"all within", format.Options{MaxMetadataBytes: 1002, MaxGraphBytes: 1003}, true},
		{"metadata", format.Options{MaxMetadataBytes: 1001}, false},
		{"graph", format.Options{MaxGraphBytes: 1002}, false},
	}
	for _, tt := range tests {
		f, err := OpenBytes(c.bytes(), &tt.o)
		if tt.ok != (err == nil) || !tt.ok && !errors.Is(err, format.ErrLimit) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err == nil {
			f.Close()
		}
	}
	three := container{tensor: cat(by(1, inline("a", 8, []byte{1}, 1)), by(1, inline("b", 8, []byte{1}, 1))), graph: by(5, inline("c", 8, []byte{1}, 1))}
	for n, ok := range map[int]bool{2: false, 3: true} {
		if _, err := OpenBytes(three.bytes(), &format.Options{MaxTensors: n}); ok != (err == nil) || !ok && !errors.Is(err, format.ErrLimit) {
			t.Errorf("%d tensors: %v", n, err)
		}
	}
	b := c.bytes()
	if _, err := OpenReaderAt(bytes.NewReader(b), int64(len(b)), &format.Options{MaxHeaderBytes: 10}); !errors.Is(err, format.ErrLimit) {
		t.Errorf("MaxHeaderBytes: %v", err)
	}
}

// TestVerifyFinds lists what only verification sees.
func TestVerifyFinds(t *testing.T) {
	good := small().bytes()
	at := func(i int) int { return int(binary.LittleEndian.Uint64(good[8+16*i:])) }
	flip := func(pos int) []byte {
		b := bytes.Clone(good)
		b[pos] ^= 1
		return b
	}
	stored := small()
	stored.tensor = cat(stored.tensor, by(2, by(1, decl("bad", 7, 4)), vi(2, 1), by(3, gz([]byte{1, 2, 3})), vi(4, 4)))
	trailing := small()
	trailing.tensor = cat(trailing.tensor, by(2, by(1, decl("bad", 7, 4)), vi(2, 1), by(3, gz(make([]byte, 4)), []byte{0}), vi(4, 4)))
	empty := small()
	empty.tensor = cat(empty.tensor, by(2, by(1, decl("bad", 7, 0)), vi(2, 1), by(3, gz([]byte{1}))))
	unsummed := small()
	unsummed.noSums = true
	tests := []struct {
		name  string
		b     []byte
		want  error
		field string
	}{
		{"header", flip(200), format.ErrChecksum, "header"},
		{"metadata", flip(at(0) + 17), format.ErrChecksum, "metadata"},
		{"graph", flip(at(1) + 3), format.ErrChecksum, "graph"},
		{"tensor", flip(at(2) + 20), format.ErrChecksum, "tensor"},
		{"no signature block", unsummed.bytes(), format.ErrChecksum, "signature"},
		{"inflates to another size", stored.bytes(), tensor.ErrCorrupt, `tensor "bad"`},
		{"bytes after the member", trailing.bytes(), tensor.ErrCorrupt, `tensor "bad"`},
		{"empty tensor inflates to a byte", empty.bytes(), tensor.ErrCorrupt, `tensor "bad"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t, tt.b, nil)
			err := verify(f)
			checkError(t, err, tt.want, tt.field, int64(len(tt.b)))
			if tt.name == "no signature block" && !strings.Contains(err.Error(), "no checksums") {
				t.Error(err)
			}
			if _, err := OpenBytes(tt.b, &format.Options{Check: format.CheckAll}); !errors.Is(err, tt.want) {
				t.Errorf("CheckAll: %v", err)
			}
		})
	}
}

// TestTolerated lists what looks odd and is fine.
func TestTolerated(t *testing.T) {
	four := []byte{1, 2, 3, 4}
	w := inline("w", 1, four, 1)
	gaps, backwards := small(), small()
	gaps.gap, backwards.order = 13, []int{3, 2, 1, 0}
	tests := []struct {
		name string
		c    container
	}{
		{"gaps between blocks", gaps},
		{"blocks in another order", backwards},
		{"ASCII magic", container{magic: 0x31414957}},
		{"minor 65535", container{minor: 65535, tensor: by(1, w)}},
		{"reserved bytes", container{reserved: 0xff}},
		{"all blocks empty", container{}},
		{"metadata with 1000 levels", container{meta: []byte(`{"a":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + "}")}},
		{"metadata of other types", container{meta: []byte(`{"model_info": 7, "training_info": [], "big": 123456789012345678901234567890}`)}},
		{"empty payload compressed", container{compression: 1, meta: gz([]byte("{}")), graph: gz(nil)}},
		{"unknown fields everywhere", container{
			graph:  cat(vi(99, 1), by(2, vi(99, 1), by(5, by(99), by(5, inline("", 1, four, 1), fl(99, 1)))), by(3, vi(7, 7)), by(5, decl("w", 1, 1), by(6, by(3, vi(9, 9))))),
			tensor: cat(by(99, four), by(1, w, vi(7, 1)), by(2, by(1, decl("z", 8, 4), vi(99, 9)), by(3, four), vi(4, 4), vi(99, 1)))}},
		{"unknown field with the number of Node.domain", onlyGraph(by(2, vi(7, 1)), by(2, st(7, "\xff")))},
		{"overlong varints", container{tensor: by(1, st(1, "w"), by(2, []byte{0x81, 0}), overlong(3, 1), by(4, four))}},
		{"overlong tag", container{tensor: cat([]byte{0x8a, 0x80, 0}, protowire.AppendBytes(nil, w))}},
		{"five-byte negative int32", onlyTensor(w, by(6, by(3, rawVarint(3, 0xff, 0xff, 0xff, 0xff, 0x0f))))},
		{"negative enum", attr(vi(20, -1))},
		{"unpacked dims", onlyTensor(st(1, "w"), vi(2, 1), vi(2, 1), vi(3, 1), by(4, four))},
		{"packed and unpacked dims", onlyTensor(st(1, "w"), vi(2, 1), by(2, []byte{1, 1}), by(2), vi(3, 1), by(4, four))},
		{"fields backwards", onlyTensor(by(4, four), vi(3, 1), dims(1), st(1, "w"))},
		{"singular fields repeat: the last wins", onlyTensor(st(1, "x"), vi(3, 99), by(4, four, four), w)},
		{"messages merge", onlyTensor(decl("w", 1, 1), by(5, st(1, "f")), by(5, vi(3, 4)))},
		{"compressed tensor in pieces", container{tensor: by(2, by(1, st(1, "w")), by(1, dims(4), vi(3, 8)), vi(2, 1), by(3, gz(four)), vi(4, 4))}},
		{"empty tensor without data", onlyTensor(decl("w", 1, 0, 5))},
		{"empty tensor with data of no bytes", onlyTensor(inline("w", 1, nil, 0))},
		{"empty compressed tensor without data", container{tensor: by(2, by(1, decl("w", 1, 0)), vi(2, 1))}},
		{"compressed by the header's codec", container{compression: 1, meta: gz([]byte("{}")), graph: gz(nil), tensor: by(2, by(1, decl("w", 8, 4)), by(3, gz(four)), vi(4, 4))}},
		{"compressed by nothing", container{tensor: by(2, by(1, decl("w", 8, 4)), by(3, four), vi(4, 4))}},
		{"tensor without initializer", container{tensor: by(1, w)}},
		{"initializer with data", container{graph: by(5, w)}},
		{"initializer declares a compressed tensor", container{tensor: by(2, by(1, decl("w", 8, 4)), by(3, four), vi(4, 4)), graph: by(5, decl("w", 8, 4))}},
		{"subgraph initializers have their own scope", container{tensor: by(1, w), graph: by(2, by(5, by(6, by(5, inline("w", 8, four, 4)))))}},
		{"subgraph names the tensor block", container{tensor: by(1, w), graph: by(2, by(5, by(6, by(5, decl("w", 1, 1)))))}},
		{"nameless attribute tensor", attr(by(5, inline("", 1, four, 1)))},
		{"attribute tensor in pieces", attr(by(5, decl("", 1, 1)), by(5, by(4, four)))},
		{"nodes and properties repeat", onlyGraph(by(2, st(1, "n")), by(2, st(1, "n")), by(6, by(1, st(1, "k")), by(1, st(1, "k"))))},
		{"value infos of all kinds", onlyGraph(by(3), by(4, st(1, "y"), by(2, by(1, vi(1, 99), by(2, by(1, vi(1, -7)), by(1, vi(1, 1<<62)), by(1, st(2, "n")), by(1))))))},
		{"input and output of one name", onlyGraph(by(3, st(1, "x")), by(4, st(1, "x")))},
		{"edges repeat and are empty", onlyGraph(by(2, st(3, ""), st(3, "a"), st(3, "a")))},
		{"unknown quantisation", onlyTensor(w, by(6, by(3, vi(1, 77))))},
		{"unsound quantisation", onlyTensor(w, by(6, by(3, vi(1, 1), by(5, by(1, floats(1, 2, 3)), vi(3, 9)))))},
		{"external data that are not there", externally(st(1, "./a//b"), vi(3, 4), st(4, "sha256:"+strings.Repeat("aB", 32)))},
		{"other checksums", container{tail: cat(by(1, st(1, "other"), by(2, four)), by(1, st(1, "other")), by(15, four), vi(77, 1))}},
		{"unsigned signature", container{tail: by(2)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.c.bytes()
			f := mustOpen(t, b, nil)
			if err := verify(f); err != nil && !strings.HasPrefix(tt.name, "external") && !strings.HasPrefix(tt.name, "messages merge") {
				t.Error(err)
			}
			if _, err := f.Graph(); err != nil {
				t.Error(err)
			}
			g, err := OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
			if err != nil {
				t.Fatal(err)
			}
			g.Close()
		})
	}
}
