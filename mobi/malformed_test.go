package mobi

import (
	"encoding/binary"
	"math"

	"github.com/weightmap/weightmap/format"
)

// The offsets of the parts of small, and of the parameters of withParam.
const (
	atInput   = 62  // the specs
	atOutput  = 87  //
	atTensors = 96  // the records
	atSecond  = 128 //
	atGraph   = 163 // the count of operators
	atNode    = 260 // the second operator
	atParam   = atNode + 8
	atEnd     = 280 // the footer
)

// malformed lists files that must not open. Their checksums are correct unless a
// checksum is the defect.
var malformed = []struct {
	name   string
	file   []byte
	err    error
	field  string
	offset int64
}{
	{"empty", nil, format.ErrTruncated, "magic", 0},
	{"magic cut", []byte("IBO"), format.ErrTruncated, "magic", 0},
	{"header cut", small().bytes()[:31], format.ErrTruncated, "operator graph offset", 28},
	{"magic", with(func(m *image) { m.patch = func(h []byte) { h[0] = 'X' } }), format.ErrMagic, "magic", 0},
	{"version 0", with(func(m *image) { m.patch = func(h []byte) { h[4] = 0 } }), format.ErrVersion, "version", 4},
	{"version 2", with(func(m *image) { m.version = 2 }), format.ErrVersion, "version", 4},
	{"reserved", with(func(m *image) { m.reserved = 1 }), format.ErrCorrupt, "reserved", 6},
	{"header checksum", with(func(m *image) { m.noSum = true; m.patch = func(h []byte) { h[8] = 1 } }), format.ErrChecksum, "header checksum", 8},
	{"header checksum covers magic", with(func(m *image) { m.spoil = func(b []byte) { copy(b, "MOBI") } }), format.ErrChecksum, "header checksum", 8},
	{"total size one less", with(func(m *image) { m.totalPlus = -1 }), format.ErrCorrupt, "total file size", 16},
	{"total size one more", with(func(m *image) { m.totalPlus = 1 }), format.ErrTruncated, "total file size", 16},
	{"a byte after the footer", append(small().bytes(), 0), format.ErrCorrupt, "total file size", 16},
	{"metadata in the header", with(func(m *image) { m.patch = put32(20, 31) }), format.ErrCorrupt, "metadata offset", 20},
	{"tensors at metadata", with(func(m *image) { m.patch = put32(24, 32) }), format.ErrCorrupt, "tensor data offset", 24},
	{"graph before tensors", with(func(m *image) { m.patch = put32(28, 33) }), format.ErrCorrupt, "operator graph offset", 28},
	{"graph past the end", with(func(m *image) { m.patch = put32(28, math.MaxUint32) }), format.ErrTruncated, "operator graph offset", 28},
	{"graph in the footer", with(func(m *image) {
		m.patch = func(h []byte) {
			binary.LittleEndian.PutUint32(h[28:], binary.LittleEndian.Uint32(h[16:])-3)
		}
	}), format.ErrTruncated, "operator graph offset", 28},

	{"model name too long", with(func(m *image) { m.name = "x"; m.counts = []uint32{math.MaxUint32, math.MaxUint32} }), format.ErrTruncated, "input count", 32 + 4 + 1 + 12},
	{"model name not UTF-8", with(func(m *image) { m.name = "\xFF" }), format.ErrCorrupt, "model name", 36},
	{"spec count one more, with padding", with(func(m *image) { m.counts = []uint32{1, 2}; m.pad = make([]byte, 20) }), format.ErrCorrupt, "spec name", atTensors + 4},
	{"spec count one less", with(func(m *image) { m.counts = []uint32{1, 0} }), format.ErrCorrupt, "padding", atOutput},
	{"spec name empty", with(func(m *image) { m.inputs = [][]byte{spec("", 0, 1)} }), format.ErrCorrupt, "spec name", atInput + 4},
	{"spec name not UTF-8", with(func(m *image) { m.outputs = [][]byte{spec("\xC0\x80", 0)} }), format.ErrCorrupt, "spec name", atOutput + 4},
	{"spec name with NUL", with(func(m *image) { m.outputs = [][]byte{spec("a\x00b", 0)} }), format.ErrCorrupt, "spec name", atOutput + 4},
	{"spec name twice among inputs", with(func(m *image) { m.inputs = [][]byte{spec("x", 0), spec("z", 0), spec("x", 1)} }), format.ErrCorrupt, "spec name", atInput + 9 + 9 + 4},
	{"spec rank too large", with(func(m *image) { m.outputs[0][4+1] = 3 }), format.ErrTruncated, "spec dims", atOutput + 9},
	{"padding not zero", with(func(m *image) { m.pad = []byte{0, 0, 1, 0} }), format.ErrCorrupt, "padding", atTensors + 2},

	{"constant twice", with(func(m *image) { m.records = append(m.records, m.records[0]) }), format.ErrCorrupt, "constant 9 id", atGraph},
	{"constant data type", with(func(m *image) { m.records[0][4] = 5 }), format.ErrUnsupported, "constant 9 data type", atTensors + 4},
	{"constant data type flagged", with(func(m *image) { m.records[0][5] = 0xC0 }), format.ErrUnsupported, "constant 9 data type", atTensors + 4},
	{"constant data one less", with(func(m *image) { m.records[1] = recordOf(7, 2, []uint64{3}, []byte{1, 2}) }), format.ErrCorrupt, "constant 7 data size", atSecond + 16},
	{"constant data of rank 0", with(func(m *image) { m.records[1] = recordOf(7, 0, nil, nil) }), format.ErrCorrupt, "constant 7 data size", atSecond + 8},
	{"constant crosses the graph", with(func(m *image) {
		m.patch = func(h []byte) {
			binary.LittleEndian.PutUint32(h[28:], binary.LittleEndian.Uint32(h[28:])-1)
		}
	}), format.ErrTruncated, "constant 7 data size", atSecond + 24},
	{"constant header crosses the graph", with(func(m *image) { m.records = append(m.records, make([]byte, 15)) }), format.ErrTruncated, "constant", atGraph},
	{"constant rank crosses the graph", with(func(m *image) {
		m.records = append(m.records, recordOf(1, 0, []uint64{1, 1}, nil)[:24])
	}), format.ErrTruncated, "constant 1 data size", atGraph + 24},
	{"zero padding after constants", with(func(m *image) { m.records = append(m.records, make([]byte, 8)) }), format.ErrTruncated, "constant", atGraph},
	{"dim 2^63", with(func(m *image) { m.records = append(m.records, recordOf(1, 2, []uint64{1 << 63, 0}, nil)) }), format.ErrCorrupt, "constant 1 dims", atGraph + 8},
	{"shape overflows", with(func(m *image) { m.records = append(m.records, recordOf(1, 2, []uint64{1 << 32, 1 << 32}, nil)) }), format.ErrCorrupt, "constant 1 dims", atGraph + 8},
	{"shape overflows, and a 0", with(func(m *image) {
		m.records = append(m.records, recordOf(1, 3, []uint64{1 << 31, 0, 1 << 31}, nil))
	}), format.ErrCorrupt, "constant 1 dims", atGraph + 8},
	{"second dim 2^63", with(func(m *image) { m.records = append(m.records, recordOf(1, 2, []uint64{1, 1 << 63}, nil)) }), format.ErrCorrupt, "constant 1 dims", atGraph + 16},
	{"one byte like gzip, continued by the next record", with(func(m *image) {
		m.records = append(m.records, recordOf(1, 2, []uint64{5}, []byte{0x1F}), recordOf(0x8B, 2, nil, []byte{1}))
	}), format.ErrCorrupt, "constant 1 data size", atGraph + 16},

	{"operator count one more", with(func(m *image) { n := uint32(3); m.opCount = &n }), format.ErrTruncated, "operator type", atEnd},
	{"operator count one less", with(func(m *image) { n := uint32(1); m.opCount = &n }), format.ErrCorrupt, "operators", atNode},
	{"operator count enormous", with(func(m *image) { n := uint32(math.MaxUint32); m.opCount = &n }), format.ErrTruncated, "operator count", atGraph},
	{"bytes after the operators", with(func(m *image) { m.tail = []byte{0} }), format.ErrCorrupt, "operators", atEnd},
	{"operator without its inputs", with(func(m *image) { m.ops[1][2] = 255 }), format.ErrTruncated, "operator inputs", atNode + 8},
	{"operator without its outputs", with(func(m *image) { m.ops[1][4] = 255 }), format.ErrTruncated, "operator outputs", atNode + 8 + 8},
	{"operator without its parameters", with(func(m *image) { m.ops[1][6] = 1 }), format.ErrTruncated, "operator parameter count", atEnd - 14},
	{"parameter name empty", withParam(param("", 0, i32s(1)...)), format.ErrCorrupt, "parameter name", atParam + 2},
	{"parameter name with NUL", withParam(param("a\x00", 4, 1)), format.ErrCorrupt, "parameter name", atParam + 2},
	{"parameter name twice", withParam(param("a", 4, 1), param("b", 4, 1), param("a", 0, i32s(1)...)), format.ErrCorrupt, "parameter name", atParam + 5 + 5 + 2},
	{"parameter type 9", withParam(param("a", 9, 0, 0, 0, 0)), format.ErrUnsupported, "parameter type", atParam + 3},
	{"parameter int32 cut", withParam(param("a", 0, 1, 2, 3)), format.ErrTruncated, "parameter value", atParam + 4},
	{"parameter bool 2", withParam(param("a", 4, 2)), format.ErrCorrupt, "parameter value", atParam + 4},
	{"parameter array count -1", withParam(param("a", 5, i32s(-1)...)), format.ErrCorrupt, "parameter array count", atParam + 4},
	{"parameter int64 array count -1", withParam(param("a", 8, i32s(-1)...)), format.ErrCorrupt, "parameter array count", atParam + 4},
	{"parameter array cut", withParam(param("a", 6, i32s(2, 0)...)), format.ErrTruncated, "parameter array", atParam + 8},
	{"parameter array enormous", withParam(param("a", 5, i32s(math.MaxInt32)...)), format.ErrTruncated, "parameter array", atParam + 8},
	{"parameter string enormous", withParam(param("a", 7, u32s(math.MaxUint32)...)), format.ErrTruncated, "parameter value", atParam + 8},
	{"parameter string not UTF-8", withParam(param("a", 7, append(u32s(1), 0xFF)...)), format.ErrCorrupt, "parameter value", atParam + 8},
}

// put32 overwrites a field of the header.
func put32(at int, v uint32) func([]byte) {
	return func(h []byte) { binary.LittleEndian.PutUint32(h[at:], v) }
}

// withParam returns a file whose last operator has the given parameters.
func withParam(params ...[]byte) []byte {
	return with(func(m *image) { m.ops[1] = op(3, nil, nil, params...) })
}
