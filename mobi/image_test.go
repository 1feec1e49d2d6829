package mobi

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"math"
	"testing"

	"github.com/weightmap/weightmap/format"
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

func (m *image) bytes() []byte {
	le := binary.LittleEndian
	meta := le.AppendUint32(nil, uint32(len(m.name)))
	meta = append(meta, m.name...)
	meta = le.AppendUint32(meta, m.framework)
	meta = le.AppendUint64(meta, m.created)
	counts := m.counts
	if counts == nil {
		counts = []uint32{uint32(len(m.inputs)), uint32(len(m.outputs))}
	}
	meta = le.AppendUint32(le.AppendUint32(meta, counts[0]), counts[1])
	meta = append(meta, bytes.Join(m.inputs, nil)...)
	meta = append(meta, bytes.Join(m.outputs, nil)...)
	meta = append(meta, m.pad...)
	n := uint32(len(m.ops))
	if m.opCount != nil {
		n = *m.opCount
	}
	graph := append(le.AppendUint32(nil, n), bytes.Join(m.ops, nil)...)
	records := bytes.Join(m.records, nil)

	metaAt := 32 + len(m.gap)
	tensorAt := metaAt + len(meta)
	graphAt := tensorAt + len(records)
	total := graphAt + len(graph) + len(m.tail) + 4
	h := []byte("IBOM")
	if m.ascii {
		h = []byte("MOBI")
	}
	if m.version == 0 {
		m.version = 1
	}
	h = le.AppendUint16(h, m.version)
	h = le.AppendUint16(h, m.reserved)
	h = le.AppendUint32(h, 0)
	h = le.AppendUint32(h, m.flags)
	h = le.AppendUint32(h, uint32(int64(total)+m.totalPlus))
	h = le.AppendUint32(h, uint32(metaAt))
	h = le.AppendUint32(h, uint32(tensorAt))
	h = le.AppendUint32(h, uint32(graphAt))
	if m.patch != nil {
		m.patch(h)
	}
	if !m.noSum {
		le.PutUint32(h[8:], crc32.ChecksumIEEE(h))
	}
	b := bytes.Join([][]byte{h, m.gap, meta, records, graph, m.tail}, nil)
	if m.crc {
		b = le.AppendUint32(b, crc32.ChecksumIEEE(b))
	} else {
		b = le.AppendUint32(b, adler32.Checksum(b))
	}
	if m.spoil != nil {
		m.spoil(b)
	}
	return b
}

// spec encodes an input or output spec.
func spec(name string, typ uint16, dims ...uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(len(name)))
	b = append(b, name...)
	b = le.AppendUint16(b, uint16(len(dims)))
	b = le.AppendUint16(b, typ)
	for _, d := range dims {
		b = le.AppendUint64(b, d)
	}
	return b
}

// recordOf encodes a constant.
func recordOf(id uint32, typ uint16, dims []uint64, data []byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, id)
	b = le.AppendUint16(b, typ)
	b = le.AppendUint16(b, uint16(len(dims)))
	for _, d := range dims {
		b = le.AppendUint64(b, d)
	}
	b = le.AppendUint64(b, uint64(len(data)))
	return append(b, data...)
}

// op encodes an operator.
func op(typ uint16, in, out []uint32, params ...[]byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint16(nil, typ)
	b = le.AppendUint16(b, uint16(len(in)))
	b = le.AppendUint16(b, uint16(len(out)))
	b = le.AppendUint16(b, uint16(len(params)))
	for _, ids := range [][]uint32{in, out} {
		for _, id := range ids {
			b = le.AppendUint32(b, id)
		}
	}
	return append(b, bytes.Join(params, nil)...)
}

// param encodes a parameter whose value is given in bytes.
func param(name string, typ uint8, value ...byte) []byte {
	b := binary.LittleEndian.AppendUint16(nil, uint16(len(name)))
	b = append(b, name...)
	return append(append(b, typ), value...)
}

// u32s, i32s and f32s encode numbers; array prepends a count.
func u32s(v ...uint32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func i32s(v ...int32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

func f32s(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func u64s(v ...uint64) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

func array(values []byte, size int) []byte {
	return append(i32s(int32(len(values)/size)), values...)
}

// zipped returns data as a gzip member made by the standard library.
func zipped(data []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(data)
	z.Close()
	return out.Bytes()
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
func verify(t *testing.T, f *File, opts ...format.VerifyOption) error {
	t.Helper()
	_, err := f.Verify(t.Context(), opts...)
	return err
}

func openImage(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := OpenBytes(b, nil)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
