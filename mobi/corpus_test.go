package mobi

import (
	"math"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

func TestCorpus(t *testing.T) {
	s := corpus.Suite{Format: Format{}, Ext: ".mobi"}
	for _, c := range malformed {
		s.Cases = append(s.Cases, corpus.Refused(c.name, c.file, c.err, c.field, c.offset))
	}
	s.Cases = append(s.Cases,
		corpus.Refused("container of the reference writer, empty", referenceContainer(""), format.ErrUnsupported, "header", 0),
		corpus.Refused("container of the reference writer", referenceContainer("m", recordOf(0, 0, []uint64{2}, f32s(1, 2))), format.ErrUnsupported, "header", 0),
	)
	s.Cases = append(s.Cases, unverified()...)
	s.Cases = append(s.Cases, tolerated()...)
	s.Cases = append(s.Cases, readable()...)
	s.Run(t)
}

// more returns the small image with further constants. The data of the first of them
// begins at atMore if it has one dim.
func more(records ...[]byte) []byte {
	return with(func(m *image) { m.records = append(m.records, records...) })
}

const atMore = atGraph + 24

// unverified returns files that open but fail verification.
func unverified() []corpus.Case {
	zeros := make([]byte, 10)
	twice := append(corpus.Gzip(zeros[:5]), corpus.Gzip(zeros[:5])...)
	sum := func(at int) []byte { return with(func(m *image) { m.spoil = func(b []byte) { b[at] ^= 1 } }) }
	packed := func(dim uint64, data []byte) []byte { return more(recordOf(1, 0x8002, []uint64{dim}, data)) }
	cases := []corpus.Case{
		{Name: "footer", Bytes: sum(atEnd), Field: "footer", Offset: atEnd},
		{Name: "footer of 0", Bytes: with(func(m *image) { m.spoil = func(b []byte) { clear(b[atEnd:]) } }), Field: "footer", Offset: atEnd},
		{Name: "data changed", Bytes: sum(atSecond + 32), Field: "footer", Offset: atEnd},
		{Name: "model name changed", Bytes: sum(36), Field: "footer", Offset: atEnd},
		{Name: "creation timestamp changed", Bytes: sum(46), Field: "footer", Offset: atEnd},
	}
	for i := range cases {
		cases[i].Err = format.ErrChecksum
	}
	for _, c := range []struct {
		name string
		file []byte
	}{
		{"gzip of one byte too many", packed(9, corpus.Gzip(zeros))},
		{"gzip of one byte too few", packed(11, corpus.Gzip(zeros))},
		{"gzip for a shape of 10 GB", packed(10<<30, corpus.Gzip(zeros))},
		{"gzip of two members", packed(10, twice)},
		{"gzip with a byte behind it", packed(10, append(corpus.Gzip(zeros), 0))},
		{"gzip with a wrong CRC", packed(10, flipped(corpus.Gzip(zeros), 8))},
		{"gzip with a wrong length", packed(10, flipped(corpus.Gzip(zeros), 1))},
		{"gzip flag without gzip", packed(10, zeros)},
		{"gzip flag and no elements without data", packed(0, nil)},
		{"gzip header alone", packed(1, []byte{0x1F, 0x8B})},
		{"unflagged gzip of another size", more(recordOf(1, 2, []uint64{9}, corpus.Gzip(zeros)))},
	} {
		cases = append(cases, corpus.Refused(c.name, c.file, format.ErrCorrupt, "constant 1", atMore))
	}
	for i := range cases {
		cases[i].Late = true
	}
	return cases
}

// The constants of the small image.
func nine() corpus.Tensor  { return corpus.Of("9", tensor.Float32, f32s(1, -2), 2) }
func seven() corpus.Tensor { return corpus.Of("7", tensor.Int8, []byte{0xFF, 0, 1}, 3, 1) }

func opens(name string, b []byte, more ...corpus.Tensor) corpus.Case {
	return corpus.Case{Name: name, Bytes: b, Version: "1", Tensors: append([]corpus.Tensor{nine(), seven()}, more...)}
}

// tolerated returns files with irregularities that readers tolerate and note.
func tolerated() []corpus.Case {
	var cases []corpus.Case
	add := func(name string, b []byte, note string, more ...corpus.Tensor) {
		c := opens(name, b, more...)
		if note != "" {
			c.Notes = []string{note}
		}
		cases = append(cases, c)
	}
	add("plain", small().bytes(), "")
	add("ASCII magic", with(func(m *image) { m.ascii = true }), "magic in ASCII order (MOBI)")
	add("header checksum 0", with(func(m *image) { m.noSum = true }), "header checksum not recorded")
	add("CRC-32 footer", with(func(m *image) { m.crc = true }), "")
	add("reserved flags", with(func(m *image) { m.flags = 0xFFFF_FFFF }), "reserved flag bits 0xfffffff8 are set")
	add("flags that the content does not bear out", with(func(m *image) { m.flags = 7 }), "")
	add("gap before metadata", with(func(m *image) { m.gap = []byte("anything") }), "8 bytes between header and metadata are ignored")
	add("zero padding", with(func(m *image) { m.pad = make([]byte, 100) }), "100 bytes of zero padding before the constants")
	add("unflagged gzip", more(recordOf(1, 4, []uint64{5}, corpus.Gzip(make([]byte, 20)))), "constants compressed without the flag: 1",
		corpus.Of("1", tensor.Int32, make([]byte, 20), 5))
	add("unknown operator", with(func(m *image) { m.ops = append(m.ops, op(1000, nil, nil)) }), "operators of unknown types: 1")
	add("our parameter types", with(func(m *image) {
		m.ops = append(m.ops, op(1, nil, nil, param("s", 7, append(u32s(2), 0, 'x')...), param("i", 8, array(u64s(1, 2), 8)...)))
	}), "parameters of types beyond the specification (string, int64 array): 2")
	add("unsound quantization", with(func(m *image) {
		m.ops = append(m.ops, op(1, []uint32{7}, nil, param("input0_scale", 2, f32s(3)...)))
	}), "constants with unsound quantization parameters: 1")
	c := corpus.Case{Name: "misaligned", Version: "1", Tensors: []corpus.Tensor{seven(), nine()}, Notes: []string{"1 tensor is not aligned: views are copies"},
		Bytes: with(func(m *image) { m.records[0], m.records[1] = m.records[1], m.records[0] })}
	return append(cases, c)
}

// readable returns files that use everything the layout allows.
func readable() []corpus.Case {
	data := []byte("weights, some weights")
	dims := []uint64{math.MaxInt64 / 4, 0}
	specs := func(in, out [][]byte) []byte { return with(func(m *image) { m.inputs, m.outputs = in, out }) }
	ones := make([]uint64, 60)
	rank := make([]int64, 60)
	for i := range ones {
		ones[i], rank[i] = 1, 1
	}
	cases := []corpus.Case{
		{Name: "empty model", Bytes: (&image{}).bytes(), Version: "1"},
		{Name: "no constants", Bytes: with(func(m *image) { m.records = nil }), Version: "1"},
		opens("compressed", more(recordOf(1, 0x8002, []uint64{uint64(len(data))}, corpus.Gzip(data))), corpus.Of("1", tensor.Int8, data, int64(len(data)))),
		opens("compressed nothing", more(recordOf(3, 0x8000, []uint64{3, 0}, corpus.Gzip(nil))), corpus.Of("3", tensor.Float32, nil, 3, 0)),
		opens("data that begin like gzip", more(recordOf(1, 2, []uint64{5}, []byte{0x1F, 0x8B, 8, 0, 0})), corpus.Of("1", tensor.Int8, []byte{0x1F, 0x8B, 8, 0, 0}, 5)),
		opens("scalar", more(recordOf(4, 4, nil, i32s(-5))), corpus.Of("4", tensor.Int32, i32s(-5))),
		opens("dim of 0 beside a large one", more(recordOf(2, 0, dims, nil)), corpus.Of("2", tensor.Float32, nil, math.MaxInt64/4, 0)),
		opens("rank 60", more(recordOf(2, 2, ones, []byte{7})), corpus.Of("2", tensor.Int8, []byte{7}, rank...)),
		opens("float16", more(recordOf(1, 1, []uint64{2}, []byte{0, 0x3C, 1, 0x7E})), corpus.Of("1", tensor.Float16, []byte{0, 0x3C, 1, 0x7E}, 2)),
		opens("int16", more(recordOf(1, 3, []uint64{2}, []byte{0, 0x80, 1, 0})), corpus.Of("1", tensor.Int16, []byte{0, 0x80, 1, 0}, 2)),
		opens("int32", more(recordOf(1, 4, []uint64{2}, i32s(1, math.MinInt32))), corpus.Of("1", tensor.Int32, i32s(1, math.MinInt32), 2)),
		opens("ids 0 and 2^32-1", more(recordOf(0, 2, nil, []byte{1}), recordOf(math.MaxUint32, 2, nil, []byte{2})),
			corpus.Of("0", tensor.Int8, []byte{1}), corpus.Of("4294967295", tensor.Int8, []byte{2})),
		opens("no model name", with(func(m *image) { m.name = "" })),
		opens("spec with enormous dims", specs([][]byte{spec("x", 0, 1<<63, 0, math.MaxUint64)}, nil)),
		opens("one name for input, output and constant", specs([][]byte{spec("9", 0)}, [][]byte{spec("9", 0)})),
		opens("operators in every order of ids", with(func(m *image) {
			m.ops = append(m.ops, op(0, []uint32{9, 9, 1000}, []uint32{9, 1000, 1000}))
		})),
		opens("every type of parameter", withParam(
			param("a", 0, i32s(-2)...), param("b", 1, u64s(math.MaxUint64)...), param("c", 2, f32s(1.5)...), param("d", 3, u64s(1)...),
			param("e", 4, 1), param("f", 4, 0), param("g", 5, array(i32s(1, -1), 4)...), param("h", 6, array(f32s(0.25), 4)...), param("i", 5, i32s(0)...))),
	}
	for _, code := range []uint16{0, 18} { // the first and the last
		cases = append(cases, opens("operator "+OpType(code).String(), with(func(m *image) { m.ops[1] = op(code, nil, nil) })))
	}
	return cases
}
