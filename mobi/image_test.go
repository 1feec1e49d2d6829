package mobi

import (
	"bytes"
	"hash/adler32"
	"hash/crc32"
	"math"
	"testing"

	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
)

// image builds a file field by field, by the layout in the package documentation and
// with the checksums of the standard library. Zero fields get the correct value.
type image struct {
	ascii     bool   // "MOBI" instead of the number
	version   uint16 // 0 means 1
	reserved  uint16
	noSum     bool // header checksum 0
	flags     uint32
	totalPlus int64 // added to the total file size
	gap       []byte
	name      string
	framework uint32
	created   uint64
	inputs    [][]byte // encoded specs
	outputs   [][]byte
	counts    []uint32 // replaces the two counts
	pad       []byte
	records   [][]byte
	ops       [][]byte
	opCount   *uint32
	tail      []byte // between operators and footer
	crc       bool   // footer is a CRC-32
	patch     func(header []byte)
	spoil     func(file []byte) // called after all checksums are set
}

var le = corpus.LE

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func (m *image) bytes() []byte {
	counts := m.counts
	if counts == nil {
		counts = []uint32{uint32(len(m.inputs)), uint32(len(m.outputs))}
	}
	meta := le(uint32(len(m.name)), m.name, m.framework, m.created, counts, join(m.inputs...), join(m.outputs...), m.pad)
	n := uint32(len(m.ops))
	if m.opCount != nil {
		n = *m.opCount
	}
	graph := le(n, join(m.ops...))
	records := join(m.records...)
	metaAt := 32 + len(m.gap)
	tensorAt := metaAt + len(meta)
	graphAt := tensorAt + len(records)
	total := int64(graphAt+len(graph)+len(m.tail)+4) + m.totalPlus
	magic := "IBOM"
	if m.ascii {
		magic = "MOBI"
	}
	h := le(magic, max(m.version, 1), m.reserved, uint32(0), m.flags, uint32(total), uint32(metaAt), uint32(tensorAt), uint32(graphAt))
	if m.patch != nil {
		m.patch(h)
	}
	if !m.noSum {
		copy(h[8:], le(crc32.ChecksumIEEE(h)))
	}
	b := join(h, m.gap, meta, records, graph, m.tail)
	footer := adler32.Checksum(b)
	if m.crc {
		footer = crc32.ChecksumIEEE(b)
	}
	b = append(b, le(footer)...)
	if m.spoil != nil {
		m.spoil(b)
	}
	return b
}

// spec encodes an input or output spec.
func spec(name string, typ uint16, dims ...uint64) []byte {
	return le(uint32(len(name)), name, uint16(len(dims)), typ, dims)
}

// recordOf encodes a constant.
func recordOf(id uint32, typ uint16, dims []uint64, data []byte) []byte {
	return le(id, typ, uint16(len(dims)), dims, uint64(len(data)), data)
}

// op encodes an operator.
func op(typ uint16, in, out []uint32, params ...[]byte) []byte {
	return le(typ, uint16(len(in)), uint16(len(out)), uint16(len(params)), in, out, join(params...))
}

// param encodes a parameter whose value is given in bytes.
func param(name string, typ uint8, value ...byte) []byte {
	return le(uint16(len(name)), name, typ, value)
}

// u32s, i32s, f32s and u64s encode numbers; array prepends a count.
func u32s(v ...uint32) []byte  { return le(v) }
func i32s(v ...int32) []byte   { return le(v) }
func f32s(v ...float32) []byte { return le(v) }
func u64s(v ...uint64) []byte  { return le(v) }

func array(values []byte, size int) []byte {
	return le(int32(len(values)/size), values)
}

// small returns a valid file with one of everything, for tests to change.
func small() *image {
	return &image{
		flags: 0x8000_0001, name: "modèl", framework: 0x0102, created: 1 << 40,
		inputs:  [][]byte{spec("x", 0, math.MaxUint64, 2)},
		outputs: [][]byte{spec("y", 77)},
		records: [][]byte{
			recordOf(9, 0, []uint64{2}, f32s(1, -2)),
			recordOf(7, 2, []uint64{3, 1}, []byte{0xFF, 0, 1}),
		},
		ops: [][]byte{
			op(2, []uint32{40, 7}, []uint32{41},
				param("input1_scale", 6, array(f32s(0.5, 1, 2), 4)...),
				param("input1_zero_point", 0, i32s(-1)...),
				param("input1_axis", 0, i32s(0)...)),
			op(10, []uint32{41, 9}, []uint32{50}),
		},
	}
}

// with returns the small image after change.
func with(change func(*image)) []byte {
	m := small()
	change(m)
	return m.bytes()
}

// verify verifies f and drops the Coverage.
func verify(t *testing.T, f *File) error {
	t.Helper()
	_, err := f.Verify(t.Context(), nil)
	return err
}

func openImage(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := openBytes(b, nil)
	expect.OK(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// referenceContainer builds a file of the reference writer, field by field: a header
// of 30 bytes, a total without the footer, a count before the tensors, and a checksum
// over four bytes too few.
func referenceContainer(name string, records ...[]byte) []byte {
	meta := le(uint32(len(name)), name, uint32(1), uint64(1_800_000_000), uint64(0)) // no inputs, no outputs
	tensors := le(uint32(len(records)), join(records...))
	graph := le(uint32(0))
	tensorAt := 30 + len(meta)
	graphAt := tensorAt + len(tensors)
	header := le("IBOM", uint16(1), uint64(0), uint32(graphAt+len(graph)), uint32(30), uint32(tensorAt), uint32(graphAt))
	b := join(header, meta, tensors, graph)
	return append(b, le(adler32.Checksum(b[:len(b)-4]))...)
}
