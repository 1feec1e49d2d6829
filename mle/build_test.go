package mle

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// The functions below build files field by field from the specification, independently
// of the writer under test.

var le = binary.LittleEndian

// gTensor is a tensor descriptor of 56 bytes.
type gTensor struct {
	offset, size uint64
	shape        []uint32
	dtype        uint8
}

// gNode is a graph node of 208 bytes.
type gNode struct {
	op                      uint16
	inputs, outputs, params []uint32
	attrOffset, attrSize    uint32
}

// gFile is a file to build.
type gFile struct {
	version    uint32
	flags      uint32
	headerSize int
	metadata   string
	inputs     []uint32
	outputs    []uint32
	tensors    []gTensor
	nodes      []gNode
	attributes string
	weights    []byte // stored weights
	comp       []byte // compression section
	sig        []byte // signature section
	noSums     bool
	aligned    bool // with padding before the graph and the weights, as the writer makes it
}

func u16(b []byte, v uint16) []byte { return le.AppendUint16(b, v) }
func u32(b []byte, v uint32) []byte { return le.AppendUint32(b, v) }
func u64(b []byte, v uint64) []byte { return le.AppendUint64(b, v) }

// list appends a list with room for the given number of values.
func list(b []byte, values []uint32, room int) []byte {
	all := make([]uint32, room)
	copy(all, values)
	for _, v := range all {
		b = u32(b, v)
	}
	return b
}

func (g *gFile) graph() []byte {
	counts := []uint32{uint32(len(g.nodes)), uint32(len(g.tensors)), uint32(len(g.inputs)), uint32(len(g.outputs))}
	b := list(list(list(nil, counts, 4), g.inputs, 16), g.outputs, 16)
	for _, t := range g.tensors {
		b = u64(u64(b, t.offset), t.size)
		b = list(u32(b, uint32(len(t.shape))), t.shape, 8)
		b = append(b, t.dtype, 0, 0, 0)
	}
	for _, n := range g.nodes {
		b = u16(u16(u16(u16(b, n.op), uint16(len(n.inputs))), uint16(len(n.outputs))), uint16(len(n.params)))
		b = list(list(list(b, n.inputs, 16), n.outputs, 16), n.params, 16)
		b = u32(u32(b, n.attrOffset), n.attrSize)
	}
	return append(b, g.attributes...)
}

// build returns the file, with sections in the order of the specification and, unless
// aligned is set, without gaps.
func (g *gFile) build() []byte {
	size := g.headerSize
	if g.version == 1 && size == 0 {
		size = 72
	}
	head := make([]byte, size)
	le.PutUint32(head, 0x00454C4D)
	le.PutUint32(head[4:], g.version)
	body := []byte{}
	at := func(section []byte, pos int) {
		if len(section) > 0 || pos < 64 {
			le.PutUint64(head[pos:], uint64(size+len(body)))
			le.PutUint64(head[pos+8:], uint64(len(section)))
		}
		body = append(body, section...)
	}
	if g.version == 1 {
		at([]byte(g.metadata), 8)
		at(g.graph(), 24)
		at(g.weights, 40)
		return append(head, body...)
	}
	le.PutUint32(head[8:], g.flags)
	le.PutUint32(head[12:], uint32(size))
	at([]byte(g.metadata), 16)
	if g.aligned {
		body = append(body, make([]byte, -(size+len(body))&7)...)
	}
	at(g.graph(), 32)
	if g.aligned {
		body = append(body, make([]byte, -(size+len(body))&63)...)
	}
	at(g.weights, 48)
	at(g.comp, 80)
	at(g.sig, 64)
	le.PutUint32(head[112:], 2)
	le.PutUint32(head[116:], 2)
	b := append(head, body...)
	if !g.noSums {
		fixSums(b)
	}
	return b
}

// fixSums sets the correct checksums of a complete version 2 file.
func fixSums(b []byte) {
	for i, pos := range []int{16, 32, 48} {
		off, size := le.Uint64(b[pos:]), le.Uint64(b[pos+8:])
		if off <= uint64(len(b)) && size <= uint64(len(b))-off {
			le.PutUint32(b[96+4*i:], crc32.ChecksumIEEE(b[off:off+size]))
		}
	}
	fixHeader(b)
}

// fixHeader sets the correct header checksum.
func fixHeader(b []byte) {
	n := int(min(int64(le.Uint32(b[12:])), int64(len(b))))
	le.PutUint32(b[108:], 0)
	le.PutUint32(b[108:], crc32.ChecksumIEEE(b[:n]))
}

// compHeader returns a compression header of 20 bytes.
func compHeader(method, level uint8, size uint64, sum uint32, bits uint8) []byte {
	b := u16([]byte{method, level}, 0)
	b = u32(u64(b, size), sum)
	return append(b, bits, 0, 0, 0)
}

// gChunk is a row of a chunk table.
type gChunk struct {
	offset uint64
	stored []byte
}

// chunkTable appends a table to a compression header, and returns the weights.
func chunkTable(head []byte, chunks ...gChunk) (comp, weights []byte) {
	comp = u32(slices.Clone(head), uint32(len(chunks)))
	for _, c := range chunks {
		comp = u64(u64(u64(comp, c.offset), uint64(len(weights))), uint64(len(c.stored)))
		comp = u32(u32(comp, crc32.ChecksumIEEE(c.stored)), 0)
		weights = append(weights, c.stored...)
	}
	return comp, weights
}

func floats(values ...float32) []byte { return corpus.LE(values) }

// plainGolden returns a small file with a placeholder between two constants, a node with
// attributes, and names.
func plainGolden() *gFile {
	g := &gFile{
		version: 2, headerSize: 128, metadata: `{"model_name":"m","tensor_names":["w","x","b","y"]}`,
		inputs: []uint32{1}, outputs: []uint32{3},
		tensors: []gTensor{
			{0, 24, []uint32{2, 3}, 0}, {0, 0, []uint32{1, 3}, 0}, {64, 8, []uint32{2}, 0}, {0, 0, []uint32{1, 2}, 0},
		},
		nodes:      []gNode{{1, []uint32{1}, []uint32{3}, []uint32{0, 2}, 0, 0}},
		attributes: `{"alpha":0.5,"axes":[1,2]}`,
	}
	g.nodes[0].attrOffset = 144 + 4*56 + 208
	g.nodes[0].attrSize = uint32(len(g.attributes))
	g.weights = slices.Concat(floats(1, 2, 3, 4, 5, 6), make([]byte, 40), floats(-1, 0.5))
	return g
}

// compressedGolden returns plainGolden with the weights compressed in one piece.
func compressedGolden(m Method, packed []byte) *gFile {
	g := plainGolden()
	sum := tensor.CRC32(g.weights)
	g.flags = 1
	g.comp = compHeader(uint8(m), 6, uint64(len(g.weights)), sum, 0)
	g.weights = packed
	return g
}

// lz4Literals returns an LZ4 block without matches, for up to 269 bytes.
func lz4Literals(b []byte) []byte {
	return slices.Concat([]byte{0xF0, byte(len(b) - 15)}, b)
}

// brotliRaw returns a Brotli stream with one uncompressed meta-block and an empty last
// one, with a window size of 16 bits (RFC 7932, section 9.2).
func brotliRaw(b []byte) []byte {
	// Bit by bit: WBITS 0; ISLAST 0, MNIBBLES 00 (four), MLEN-1 in 16 bits,
	// ISUNCOMPRESSED 1, padding.
	bits := uint32(0)<<0 | 0<<1 | 0<<2 | uint32(len(b)-1)<<4 | 1<<20
	return slices.Concat([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16)}, b, []byte{3})
}

// methodsOf compresses plain weights by every lossless method, by hand.
func methodsOf(plain []byte) map[Method][]byte {
	return map[Method][]byte{
		MethodNone: plain, MethodLZ4: lz4Literals(plain), MethodZstd: corpus.Zstd(plain), MethodBrotli: brotliRaw(plain),
	}
}

// chunkedGolden returns a file with two chunks, the first with the padding behind its
// tensor.
func chunkedGolden(pack func([]byte) []byte, m Method) *gFile {
	g := plainGolden()
	plain := g.weights
	g.flags = 1 | 0x40
	head := compHeader(uint8(m), 3, uint64(len(plain)), tensor.CRC32(plain), 0)
	g.comp, g.weights = chunkTable(head, gChunk{0, pack(plain[:64])}, gChunk{64, pack(plain[64:])})
	return g
}

// nestedJSON returns an object in which arrays nest to the given depth.
func nestedJSON(depth int) string {
	return `{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
}

const flushedNote = "the checksum of the float16 weights takes subnormal halves and -0 for 0, as the reference implementation does"

// tinyHalves are the 18 halves of a model, including subnormals, -0, infinity and a NaN.
var tinyHalves = []uint16{0x3C00, 0x0001, 0x83FF, 0x8000, 0x7C00, 0x7C01, 0, 0x03FF, 0x0400, 0xBC00, 0, 0, 0, 0, 0, 0, 0x3800, 0x8001}

// tinyFloats are the bits of the IEEE values of tinyHalves.
var tinyFloats = []uint32{0x3F800000, 0x33800000, 0xB87FC000, 0x80000000, 0x7F800000, 0x7F802000, 0, 0x387FC000, 0x38800000, 0xBF800000,
	0, 0, 0, 0, 0, 0, 0x3F000000, 0xB3800000}

// sumOf returns the CRC-32 of tinyFloats, with the halves that flush selects as 0.
func sumOf(flush func(half uint16) bool) uint32 {
	var b []byte
	for i, bits := range tinyFloats {
		if flush(tinyHalves[i]) {
			bits = 0
		}
		b = u32(b, bits)
	}
	return crc32.ChecksumIEEE(b)
}

// tinyGolden returns a float16 file with the given checksum, in one piece or in two
// chunks.
func tinyGolden(sum uint32, chunked bool) *gFile {
	var packed []byte
	for _, h := range tinyHalves {
		packed = u16(packed, h)
	}
	g := plainGolden()
	g.flags, g.weights = 1|0x10, packed
	g.comp = compHeader(5, 6, 72, sum, 16)
	if chunked {
		g.flags |= 0x40
		g.comp, g.weights = chunkTable(g.comp, gChunk{0, packed[:32]}, gChunk{64, packed[32:]})
	}
	return g
}
