package mle

import (
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// set32 and set64 change a field and correct the checksums.
func set32(at int, v uint32) func([]byte) []byte {
	return func(b []byte) []byte { le.PutUint32(b[at:], v); fixSums(b); return b }
}

func set64(at int, v uint64) func([]byte) []byte {
	return func(b []byte) []byte { le.PutUint64(b[at:], v); fixSums(b); return b }
}

// inSection changes a field of the section whose offset is stored at pos.
func inSection(pos, at int, v []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		copy(b[int(binary.LittleEndian.Uint64(b[pos:]))+at:], v)
		fixSums(b)
		return b
	}
}

const (
	gGraph   = 32 // positions of the section offsets
	gComp    = 80
	gSig     = 64
	gTensor0 = 144
	gNode0   = 144 + 4*56
)

func keep(b []byte) []byte { return b }

// malformed is an invalid file and its error.
type malformed struct {
	name   string
	file   *gFile
	mutate func([]byte) []byte
	err    error
	field  string
	offset int64
}

func withMeta(text string) *gFile {
	g := plainGolden()
	g.metadata = text
	return g
}

func with(change func(*gFile)) *gFile {
	g := plainGolden()
	change(g)
	return g
}

func signedGolden() *gFile {
	g := plainGolden()
	g.flags = 4
	g.sig = make([]byte, 140)
	g.sig[0], g.sig[1] = 1, 1
	return g
}

func zstdGolden() *gFile { return compressedGolden(MethodZstd, corpus.Zstd(plainGolden().weights)) }

func headerCases() []malformed {
	p := plainGolden
	old := with(func(g *gFile) { g.version = 1 })
	long := func(noSums bool) *gFile { return with(func(g *gFile) { g.headerSize, g.noSums = 144, noSums }) }
	return []malformed{
		{"empty", p(), func([]byte) []byte { return nil }, format.ErrTruncated, "magic", 0},
		{"magic", p(), set32(0, 0x4D4C4500), format.ErrMagic, "magic", 0},
		{"version 0", p(), set32(4, 0), format.ErrVersion, "version", 4},
		{"version 3", p(), set32(4, 3), format.ErrVersion, "version", 4},
		{"min_reader_version 3", p(), set32(112, 3), format.ErrVersion, "min_reader_version", 112},
		{"header_size 64", p(), set32(12, 64), format.ErrCorrupt, "header_size", 12},
		{"header checksum", p(), func(b []byte) []byte { b[108] ^= 1; return b }, format.ErrChecksum, "header_checksum", 108},
		{"metadata checksum", p(), func(b []byte) []byte { b[96] ^= 1; fixHeader(b); return b }, format.ErrChecksum, "metadata_checksum", 96},
		{"graph checksum", p(), func(b []byte) []byte { b[100] ^= 1; fixHeader(b); return b }, format.ErrChecksum, "graph_checksum", 100},
		{"cut in the header", p(), func(b []byte) []byte { return b[:100] }, format.ErrTruncated, "graph_checksum", 100},
		{"header of 144 bytes cut", long(false), func(b []byte) []byte { return b[:130] }, format.ErrTruncated, "header", 0},
		{"header of 144 bytes cut, without checksums", long(true), func(b []byte) []byte { return b[:130] }, format.ErrTruncated, "header", 130},
		{"cut by one", p(), func(b []byte) []byte { return b[:len(b)-1] }, format.ErrTruncated, "weights_offset", 48},
		{"one byte more", p(), func(b []byte) []byte { return append(b, 0) }, format.ErrCorrupt, "file size", 853},
		{"metadata beyond the file", p(), set64(16, 1<<40), format.ErrTruncated, "metadata_offset", 16},
		{"metadata size overflows", p(), set64(24, 1<<63-1), format.ErrTruncated, "metadata_offset", 16},
		{"graph offset above 2^63", p(), set64(32, 1<<63+1), format.ErrTruncated, "graph_offset", 32},
		{"metadata in the header", p(), set64(16, 100), format.ErrCorrupt, "metadata_offset", 16},
		{"weights over the graph", p(), set64(48, 200), format.ErrCorrupt, "weights_offset", 48},
		{"empty section beyond the file", p(), set64(64, 1<<30), format.ErrTruncated, "signature_offset", 64},
		{"version 1: size overflows", old, func(b []byte) []byte { le.PutUint64(b[32:], 1<<64-1); return b }, format.ErrTruncated, "graph_offset", 24},
		{"version 1: in the header", old, func(b []byte) []byte { le.PutUint64(b[8:], 60); return b }, format.ErrCorrupt, "metadata_offset", 8},
		{"version 1: trailing byte", old, func(b []byte) []byte { return append(b, 0) }, format.ErrCorrupt, "file size", 853},
		{"COMPRESSION without section", p(), set32(8, 1), format.ErrCorrupt, "feature_flags", 8},
		{"section without COMPRESSION", zstdGolden(), set32(8, 0), format.ErrCorrupt, "feature_flags", 8},
		{"SIGNING without section", p(), set32(8, 4), format.ErrCorrupt, "feature_flags", 8},
		{"section without SIGNING", signedGolden(), set32(8, 0), format.ErrCorrupt, "feature_flags", 8},
		{"too small for nonce and tag", with(func(g *gFile) { g.flags = 2; g.weights = make([]byte, 27); g.tensors = nil; g.metadata = "" }), keep, format.ErrCorrupt, "weights_size", 56},
		{"signature algorithm", signedGolden(), inSection(gSig, 0, []byte{2}), format.ErrUnsupported, "signature algorithm", 853},
		{"hash algorithm", signedGolden(), inSection(gSig, 1, []byte{0}), format.ErrUnsupported, "signature hash_algorithm", 854},
		{"signature too long", with(func(g *gFile) { g.flags = 4; g.sig = append([]byte{1, 1}, make([]byte, 139)...) }), keep, format.ErrCorrupt, "signature_size", 72},
		{"signature of one byte", with(func(g *gFile) { g.flags = 4; g.sig = []byte{1} }), keep, format.ErrTruncated, "signature hash_algorithm", 854},
	}
}

func metadataCases() []malformed {
	names := func(list string) *gFile { return withMeta(`{"tensor_names":` + list + `}`) }
	return []malformed{
		{"no object", withMeta(`[1]`), keep, format.ErrCorrupt, "metadata", 128},
		{"byte order mark", withMeta("\ufeff{}"), keep, format.ErrCorrupt, "metadata", 128},
		{"two objects", withMeta(`{}{}`), keep, format.ErrCorrupt, "metadata", 130},
		{"duplicate key", withMeta(`{"a":1,"a":2}`), keep, format.ErrCorrupt, "metadata", 135},
		{"lone surrogate in a key", withMeta(`{"\ud800":1}`), keep, format.ErrCorrupt, "metadata", 130},
		{"NUL in a key", withMeta(`{"a\u0000":1}`), keep, format.ErrCorrupt, "metadata", 129},
		{"invalid UTF-8", withMeta("{\"a\":\"\xff\"}"), keep, format.ErrCorrupt, "metadata", 134},
		{"1,001 levels", withMeta(nestedJSON(1001)), keep, format.ErrCorrupt, "metadata", 1132},
		{"names: no array", names(`{}`), keep, format.ErrCorrupt, "tensor_names", 128},
		{"names: no array, no tensors", &gFile{version: 2, headerSize: 128, metadata: `{"tensor_names":{}}`}, keep, format.ErrCorrupt, "tensor_names", 128},
		{"names: a number", names(`["w","x","b",1]`), keep, format.ErrCorrupt, "tensor_names", 128},
		{"names: empty", names(`["w","x","","y"]`), keep, format.ErrCorrupt, "tensor_names", 128},
		{"names: NUL", names(`["w","x","b\u0000","y"]`), keep, format.ErrCorrupt, "tensor_names", 128},
		{"names: lone surrogate", names(`["w","x","\ud800","y"]`), keep, format.ErrCorrupt, "tensor_names", 128},
		{"names: twice", names(`["w","x","w","y"]`), keep, format.ErrCorrupt, "tensor_names", 128},
		{"names: placeholder and constant", names(`["w","w","b","y"]`), keep, format.ErrCorrupt, "tensor_names", 128},
		{"names: too few", names(`["w","x","b"]`), keep, format.ErrCorrupt, "tensor_names", 128},
		{"names: too many", names(`["w","x","b","y","z"]`), keep, format.ErrCorrupt, "tensor_names", 128},
		{"names: two constants", &gFile{version: 2, headerSize: 128, metadata: `{"tensor_names":["w","w"]}`, weights: []byte{1, 2},
			tensors: []gTensor{{offset: 0, size: 1, dtype: 2}, {offset: 1, size: 1, dtype: 2}}}, keep, format.ErrCorrupt, "tensor_names", 128},
	}
}

func graphCases() []malformed {
	p := plainGolden
	field := func(at int, v ...byte) func([]byte) []byte { return inSection(gGraph, at, v) }
	w32 := func(at int, v uint32) func([]byte) []byte { return inSection(gGraph, at, u32(nil, v)) }
	w64 := func(at int, v uint64) func([]byte) []byte { return inSection(gGraph, at, u64(nil, v)) }
	attrs := func(text string) *gFile {
		return with(func(g *gFile) { g.attributes = text; g.nodes[0].attrSize = uint32(len(text)) })
	}
	small := with(func(g *gFile) { *g = gFile{version: 2, headerSize: 128} })
	return []malformed{
		{"size 143", small, set64(40, 143), format.ErrCorrupt, "graph_size", 40},
		{"no graph", small, func(b []byte) []byte {
			clear(b[32:64])
			b = b[:128]
			fixSums(b)
			return b
		}, format.ErrCorrupt, "graph_size", 40},
		{"num_nodes huge", p(), w32(0, 1<<32-1), format.ErrTruncated, "num_nodes", 179},
		{"num_tensors huge", p(), w32(4, 1<<32-1), format.ErrTruncated, "num_tensors", 183},
		{"num_inputs 17", p(), w32(8, 17), format.ErrCorrupt, "num_inputs", 187},
		{"num_outputs 17", p(), w32(12, 17), format.ErrCorrupt, "num_outputs", 191},
		{"ndim 9", p(), w32(gTensor0+16, 9), format.ErrCorrupt, "tensor descriptor 0 ndim", 339},
		{"ndim 9 of a placeholder", p(), w32(gTensor0+56+16, 9), format.ErrCorrupt, "tensor descriptor 1 ndim", 395},
		{"dtype 4", p(), field(gTensor0+52, 4), format.ErrUnsupported, "tensor descriptor 0 dtype", 375},
		{"shape of another size", p(), w32(gTensor0+20, 3), format.ErrCorrupt, "tensor descriptor 0 size", 331},
		{"a dim of 0 with data", p(), w32(gTensor0+20, 0), format.ErrCorrupt, "tensor descriptor 0 size", 331},
		{"dims overflow", p(), func(b []byte) []byte {
			return w64(gTensor0+28, 1<<64-1)(w64(gTensor0+20, 1<<64-1)(w32(gTensor0+16, 4)(b)))
		}, format.ErrCorrupt, "tensor descriptor 0 shape", 343},
		// (2^64-1)^2 is 1 modulo 2^64, which is the stated size.
		{"dims whose product wraps", with(func(g *gFile) {
			g.tensors[0] = gTensor{size: 1, shape: []uint32{1<<32 - 1, 641, 6700417, 1<<32 - 1, 641, 6700417}, dtype: 2}
		}), keep, format.ErrCorrupt, "tensor descriptor 0 shape", 343},
		{"offset beyond the weights", p(), w64(gTensor0, 49), format.ErrTruncated, "weights_size", 56},
		{"offset beyond any file", p(), w64(gTensor0, 1<<63), format.ErrTruncated, "tensor descriptor 0 offset", 323},
		{"node with 17 inputs", p(), field(gNode0+2, 17, 0), format.ErrCorrupt, "node 0 num_inputs", 549},
		{"node with 17 params", p(), field(gNode0+6, 17, 0), format.ErrCorrupt, "node 0 num_params", 553},
		{"node with 17 outputs", p(), field(gNode0+4, 17, 0), format.ErrCorrupt, "node 0 num_outputs", 551},
		{"attributes in the nodes", p(), w32(gNode0+200, gNode0), format.ErrCorrupt, "node 0 attr_offset", 747},
		{"attributes beyond the section", p(), w32(gNode0+204, 28), format.ErrCorrupt, "node 0 attr_offset", 747},
		{"attributes: no object", attrs(`[1,2]`), keep, format.ErrCorrupt, "attributes", 755},
		{"attributes: duplicate key", attrs(`{"a":1,"a":2}`), keep, format.ErrCorrupt, "attributes", 762},
		{"attributes: 1,001 levels", attrs(nestedJSON(1001)), keep, format.ErrCorrupt, "attributes", 1759},
	}
}

func compressionCases() []malformed {
	field := func(at int, v ...byte) func([]byte) []byte { return inSection(gComp, at, v) }
	z := zstdGolden
	return []malformed{
		{"method 6", z(), field(0, 6), format.ErrUnsupported, "compression type", 862},
		{"reserved", z(), field(3, 1), format.ErrCorrupt, "compression reserved", 864},
		{"quantization_bits of zstd", z(), field(16, 8), format.ErrCorrupt, "compression quantization_bits", 878},
		{"quantization_bits of int8", with(func(g *gFile) { g.flags = 1; g.comp = compHeader(4, 1, 72, 0, 4); g.weights = make([]byte, 26) }), keep, format.ErrCorrupt, "compression quantization_bits", 823},
		{"quantization_bits of float16", with(func(g *gFile) { g.flags = 1; g.comp = compHeader(5, 1, 72, 0, 0); g.weights = make([]byte, 36) }), keep, format.ErrCorrupt, "compression quantization_bits", 833},
		{"quantization_bits of none", with(func(g *gFile) { g.flags = 1; g.comp = compHeader(0, 1, 72, 0, 32) }), keep, format.ErrCorrupt, "compression quantization_bits", 869},
		{"padding", z(), field(19, 1), format.ErrCorrupt, "compression padding", 879},
		{"size below the last tensor", z(), field(4, 71), format.ErrCorrupt, "uncompressed_size", 866},
		{"size above the next 64", z(), field(4, 129), format.ErrCorrupt, "uncompressed_size", 866},
		{"section of 19 bytes", with(func(g *gFile) { g.flags = 1; g.comp = make([]byte, 19) }), keep, format.ErrTruncated, "compression padding", 870},
		{"section of 21 bytes", with(func(g *gFile) { g.flags = 1; g.comp = append(compHeader(0, 1, 72, 0, 0), 0) }), keep, format.ErrCorrupt, "compression_size", 88},
		{"method 0 of another size", with(func(g *gFile) { g.flags = 1; g.comp = compHeader(0, 1, 80, 0, 0) }), keep, format.ErrCorrupt, "weights_size", 56},
		{"int8 of another size", with(func(g *gFile) { g.flags = 1; g.comp = compHeader(4, 1, 72, 0, 8); g.weights = make([]byte, 27) }), keep, format.ErrCorrupt, "weights_size", 56},
		{"float16 of another size", with(func(g *gFile) { g.flags = 1; g.comp = compHeader(5, 1, 72, 0, 16); g.weights = make([]byte, 35) }), keep, format.ErrCorrupt, "weights_size", 56},
		{"int8 of part of a float", with(func(g *gFile) { g.flags = 1; g.comp = compHeader(4, 1, 73, 0, 8); g.weights = make([]byte, 26) }), keep, format.ErrCorrupt, "uncompressed_size", 811},
		{"int8 of integers", with(func(g *gFile) {
			g.flags, g.comp, g.weights = 1, compHeader(4, 1, 72, 0, 8), make([]byte, 26)
			g.tensors[2].dtype = 3
		}), keep, format.ErrCorrupt, "tensor descriptor 2 dtype", 487},
		{"float16 of halves", with(func(g *gFile) {
			g.flags, g.comp, g.weights = 1, compHeader(5, 1, 72, 0, 16), make([]byte, 36)
			g.tensors[2] = gTensor{64, 8, []uint32{4}, 1}
		}), keep, format.ErrCorrupt, "tensor descriptor 2 dtype", 487},
	}
}

// chunkCases returns files with invalid chunk tables. The rows, of 32 bytes each, begin at
// byte 24 of the section.
func chunkCases() []malformed {
	g := func() *gFile { return chunkedGolden(corpus.Zstd, MethodZstd) }
	w32 := func(at int, v uint32) func([]byte) []byte { return inSection(gComp, at, u32(nil, v)) }
	w64 := func(at int, v uint64) func([]byte) []byte { return inSection(gComp, at, u64(nil, v)) }
	first := uint64(len(corpus.Zstd(make([]byte, 64))))
	across := func(bounds ...uint64) *gFile {
		g := plainGolden()
		g.flags = 1 | 0x40
		var chunks []gChunk
		for i, from := range bounds {
			to := uint64(len(g.weights))
			if i+1 < len(bounds) {
				to = bounds[i+1]
			}
			chunks = append(chunks, gChunk{from, g.weights[from:to]})
		}
		g.comp, g.weights = chunkTable(compHeader(0, 1, 72, tensor.CRC32(g.weights), 0), chunks...)
		return g
	}
	return []malformed{
		{"no table", with(func(g *gFile) { g.flags = 1 | 0x40; g.comp = compHeader(0, 1, 72, 0, 0) }), keep, format.ErrTruncated, "chunk_count", 873},
		{"no chunks", with(func(g *gFile) { g.flags = 1 | 0x40; g.comp = u32(compHeader(0, 1, 72, 0, 0), 0) }), keep, format.ErrCorrupt, "chunk_count", 873},
		{"count too large", g(), w32(20, 3), format.ErrTruncated, "chunk_count", 891},
		{"count too small", g(), w32(20, 1), format.ErrCorrupt, "compression_size", 88},
		{"first not at 0", g(), w64(24, 4), format.ErrCorrupt, "chunk 0 offset", 895},
		{"second at 0", g(), w64(56, 0), format.ErrCorrupt, "chunk 1 offset", 927},
		{"offset above 2^63", g(), w64(56, 1<<63+4), format.ErrCorrupt, "chunk 1 offset", 927},
		{"gap in the stored bytes", g(), w64(64, first+1), format.ErrCorrupt, "chunk 1 stored offset", 935},
		{"stored size too large", g(), w64(72, 1<<40), format.ErrCorrupt, "chunk 1 stored size", 943},
		{"stored size overflows", g(), w64(72, 1<<64-1), format.ErrCorrupt, "chunk 1 stored size", 943},
		{"bytes left over", g(), w64(72, first-60), format.ErrCorrupt, "chunks", 895},
		{"reserved", g(), w32(24+28, 1), format.ErrCorrupt, "chunk 0 reserved", 923},
		{"across tensors", across(0, 16), keep, format.ErrCorrupt, "chunk 1 offset", 909},
		{"int8 sizes", with(func(g *gFile) {
			g.flags = 1 | 0x40
			g.comp, g.weights = chunkTable(compHeader(4, 1, 72, 0, 8), gChunk{0, make([]byte, 24)}, gChunk{64, make([]byte, 11)})
		}), keep, format.ErrCorrupt, "chunk 1 stored size", 888},
		{"int8: a float32 in two chunks", with(func(g *gFile) {
			g.flags = 1 | 0x40
			g.comp, g.weights = chunkTable(compHeader(4, 1, 72, 0, 8), gChunk{0, make([]byte, 8+30/4)}, gChunk{30, make([]byte, 8+42/4)})
		}), keep, format.ErrCorrupt, "chunk 1 offset", 870},
	}
}

func allocatedBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestManySharedAttributes checks that nodes may share one large object without much
// work, and that ranges that overlap too much are refused.
func TestManySharedAttributes(t *testing.T) {
	big := `{"a":"` + strings.Repeat("x", 1<<20) + `"}`
	build := func(nodes int, step uint32) []byte {
		g := &gFile{version: 2, headerSize: 128, attributes: big + strings.Repeat(" ", nodes)}
		base := uint32(144 + nodes*208)
		for i := range nodes {
			g.nodes = append(g.nodes, gNode{op: 2, attrOffset: base, attrSize: uint32(len(big)) + uint32(i)*step})
		}
		return g.build()
	}
	f := mustOpen(t, build(20_000, 0), nil)
	before := allocatedBytes()
	if g, err := f.Graph(); err != nil || len(g.Nodes) != 20_000 {
		t.Error(err)
	}
	if used := allocatedBytes() - before; used > 128<<20 {
		t.Errorf("%d bytes allocated", used)
	}
	var e *tensor.Error
	if _, err := openBytes(build(2_000, 1), nil); !errors.Is(err, format.ErrLimit) || !errors.As(err, &e) || e.Field != "attributes" {
		t.Errorf("%v, want ErrLimit of the attributes", err)
	}
	mustOpen(t, build(20, 1), nil)
}

// TestBombs checks that weights that decompress to much more than declared, in one piece
// and in chunks, take little memory.
func TestBombs(t *testing.T) {
	plain := plainGolden().weights
	for m := MethodLZ4; m <= MethodBrotli; m++ {
		pack := func(b []byte) []byte {
			out, err := methods[m].codec.Compress(b, 6)
			expect.OK(t, err)
			return out
		}
		bomb := pack(make([]byte, 64<<20))
		chunked := plainGolden()
		chunked.flags = 1 | 0x40
		chunked.comp, chunked.weights = chunkTable(compHeader(uint8(m), 1, 72, tensor.CRC32(plain), 0), gChunk{0, bomb}, gChunk{64, pack(plain[64:])})
		for how, g := range map[string]*gFile{"single": compressedGolden(m, bomb), "chunked": chunked} {
			f := mustOpen(t, g.build(), nil)
			before := allocatedBytes()
			expect.Refused(t, format.ErrCorrupt, m, how)(view(t, f, "w").Bytes())
			expect.Refused(t, format.ErrCorrupt, m, how, "Verify")(nil, verify(f))
			// Brotli's window takes 16 MiB in the worst case.
			if used := allocatedBytes() - before; used > 40<<20 {
				t.Errorf("%v %s: %d bytes allocated", m, how, used)
			}
		}
	}
}
