package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/tensor"
)

// problem is an error without its text.
type problem struct {
	Sentinel error
	Field    string
	Offset   int64
}

func (p problem) String() string { return fmt.Sprintf("%v at %d of %q", p.Sentinel, p.Offset, p.Field) }

func problemOf(err error) string {
	var e *tensor.Error
	if !errors.As(err, &e) || e.Format != "test" {
		return fmt.Sprint(err)
	}
	for _, sentinel := range []error{tensor.ErrTruncated, tensor.ErrCorrupt, tensor.ErrLimit, tensor.ErrMagic} {
		if errors.Is(err, sentinel) {
			return problem{sentinel, e.Field, e.Offset}.String()
		}
	}
	return fmt.Sprint(err)
}

// growing is the head of a file. Each Need reads exactly what it must.
type growing struct {
	file   []byte
	expect []int64
	err    error
}

func (g *growing) Expect(end int64) { g.expect = append(g.expect, end) }

func (g *growing) Need(from, n int64) ([]byte, error) {
	if g.err != nil {
		return nil, g.err
	}
	return bytes.Clone(g.file[from:n]), nil
}

// numbered returns the bytes 1, 2, 3 to n.
func numbered(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

// reads are all ways to read a field, of at most 16 bytes.
var reads = []struct {
	name string
	size int64
	read func(r *Record) any
	want any
	zero any
}{
	{"U8", 1, func(r *Record) any { return r.U8("x") }, uint8(1), uint8(0)},
	{"U16", 2, func(r *Record) any { return r.U16("x") }, uint16(0x0201), uint16(0)},
	{"U32", 4, func(r *Record) any { return r.U32("x") }, uint32(0x04030201), uint32(0)},
	{"U64", 8, func(r *Record) any { return r.U64("x") }, uint64(0x0807060504030201), uint64(0)},
	{"I32", 4, func(r *Record) any { return r.I32("x") }, int32(0x04030201), int32(0)},
	{"I64", 8, func(r *Record) any { return r.I64("x") }, int64(0x0807060504030201), int64(0)},
	{"Bytes", 3, func(r *Record) any { return string(r.Bytes("x", 3)) }, "\x01\x02\x03", ""},
	{"Skip", 3, func(r *Record) any { r.Skip("x", 3); return nil }, nil, nil},
	{"Text", 2, func(r *Record) any { r.Text("x", "\x01\x02", tensor.ErrMagic); return nil }, nil, nil},
	{"Uint32s", 8, func(r *Record) any { l := r.Uint32s("x", 2); return [2]uint32{l.At(0), l.At(1)} }, [2]uint32{0x04030201, 0x08070605}, [2]uint32{}},
	{"Uint64s", 16, func(r *Record) any { l := r.Uint64s("x", 2); return [2]uint64{l.At(0), l.At(1)} },
		[2]uint64{0x0807060504030201, 0x100f0e0d0c0b0a09}, [2]uint64{}},
}

// TestRecordReads reads each kind of field from memory and from a head that must be read for it, and where a
// byte is missing.
func TestRecordReads(t *testing.T) {
	for _, tt := range reads {
		for _, way := range []struct {
			name string
			open func(file []byte) Record
		}{
			{"memory", func(file []byte) Record { return NewRecord("test", file, 100) }},
			{"head", func(file []byte) Record { return HeadRecord("test", &growing{file: file}, 0, int64(len(file))) }},
		} {
			t.Run(tt.name+" "+way.name, func(t *testing.T) {
				r := way.open(numbered(16))
				base := r.Offset()
				if diff := cmp.Diff(tt.want, tt.read(&r)); diff != "" || r.Err() != nil {
					t.Errorf("%v (-want +got)\n%s", r.Err(), diff)
				}
				if r.Offset() != base+tt.size || r.Left() != 16-tt.size || r.At("x") != base {
					t.Errorf("at %d of a field at %d, %d are left", r.Offset(), r.At("x"), r.Left())
				}
				if diff := cmp.Diff([]Field{{"x", 0, tt.size}}, r.Fields()); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				r = way.open(make([]byte, 2+tt.size))
				r.Skip("before", 3)
				if diff := cmp.Diff(tt.zero, tt.read(&r)); diff != "" {
					t.Errorf("after the end (-want +got)\n%s", diff)
				}
				want := problem{tensor.ErrTruncated, "x", base + 3}.String()
				if got := problemOf(r.Err()); got != want || r.Offset() != base+3 {
					t.Errorf("%s, want %s; then at %d", got, want, r.Offset())
				}
			})
		}
	}
}

// TestRecordFails: each way to refuse a field names it and has its offset, once.
func TestRecordFails(t *testing.T) {
	placed := Error("test", "inner", 7, tensor.ErrLimit)
	for _, tt := range []struct {
		name string
		fail func(r *Record)
		want problem
	}{
		{"Bad", func(r *Record) { r.Bad(tensor.ErrCorrupt, "") }, problem{tensor.ErrCorrupt, "c", 112}},
		{"BadField", func(r *Record) { r.BadField("a", tensor.ErrCorrupt, "") }, problem{tensor.ErrCorrupt, "a", 104}},
		{"BadItem", func(r *Record) { r.BadItem("b", 2, tensor.ErrCorrupt, "") }, problem{tensor.ErrCorrupt, "b", 116}},
		{"BadItem of bytes", func(r *Record) { r.BadItem("a", 2, tensor.ErrCorrupt, "") }, problem{tensor.ErrCorrupt, "a", 106}},
		{"BadRecord", func(r *Record) { r.BadRecord("kind", tensor.ErrCorrupt, "") }, problem{tensor.ErrCorrupt, "kind", 104}},
		{"Text", func(r *Record) { r.Text("marker", "ABCD", tensor.ErrMagic) }, problem{tensor.ErrMagic, "marker", 114}},
		{"Fail", func(r *Record) { r.Fail("other", 5, tensor.ErrLimit) }, problem{tensor.ErrLimit, "other", 5}},
		{"Fail with a place", func(r *Record) { r.Fail("other", 5, placed) }, problem{tensor.ErrLimit, "inner", 7}},
		{"FailField", func(r *Record) { r.FailField("a", tensor.ErrLimit) }, problem{tensor.ErrLimit, "a", 104}},
		{"Stop", func(r *Record) { r.Stop(placed) }, problem{tensor.ErrLimit, "inner", 7}},
		{"Fits", func(r *Record) { r.Fits("a", 7, 1) }, problem{tensor.ErrTruncated, "a", 104}},
		{"Fits together", func(r *Record) { r.Fits("a", 3, 1); r.Fits("c", 2, 2) }, problem{tensor.ErrTruncated, "c", 112}},
		{"Fits overflows", func(r *Record) { r.Fits("a", math.MaxUint64, math.MaxUint64) }, problem{tensor.ErrTruncated, "a", 104}},
		{"Bytes of any length", func(r *Record) { r.Bytes("d", math.MaxUint64) }, problem{tensor.ErrTruncated, "d", 114}},
		{"Uint32s of any length", func(r *Record) { r.Uint32s("d", 1<<62) }, problem{tensor.ErrTruncated, "d", 114}},
		{"Uint64s of any length", func(r *Record) { r.Uint64s("d", 1<<61) }, problem{tensor.ErrTruncated, "d", 114}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRecord("test", make([]byte, 20), 100)
			r.U32("earlier")
			r.Begin()
			r.U32("a")
			r.Uint32s("b", 1)
			r.U16("c")
			tt.fail(&r)
			r.Bad(tensor.ErrMagic, "a later failure")
			r.Fail("later", 1, tensor.ErrMagic)
			if got := problemOf(r.Err()); got != tt.want.String() {
				t.Errorf("%s, want %s", got, tt.want)
			}
			at := r.Offset()
			r.MoveTo(100)
			if r.U8("x")|r.U8("y") != 0 || len(r.Bytes("z", 0)) != 0 || r.Uint64s("l", 1).At(3) != 0 || r.Offset() != at {
				t.Error("reads go on after a failure")
			}
		})
	}
}

// TestRecords names the records of a list, ends after a failure, and tells the head how far it will be read.
func TestRecords(t *testing.T) {
	head := &growing{file: make([]byte, 100)}
	r := HeadRecord("test", head, 0, 100)
	r.U32("count")
	seen := 0
	for i := range r.Records("row", 5, 10) {
		r.U64("value")
		if i == 2 {
			r.BadField("value", tensor.ErrCorrupt, "wrong")
		}
		seen++
	}
	if got, want := problemOf(r.Err()), (problem{tensor.ErrCorrupt, "row 2 value", 20}).String(); got != want || seen != 3 {
		t.Errorf("%s after %d rows, want %s", got, seen, want)
	}
	if diff := cmp.Diff([]int64{54, 52, 50}, head.expect); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	r = NewRecord("test", make([]byte, 9), 0)
	r.BeginItem("row", 7)
	r.U64("value")
	r.U16("next")
	if got, want := problemOf(r.Err()), (problem{tensor.ErrTruncated, "row 7 next", 8}).String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for range r.Records("row", 5, 10) {
		t.Error("a list begins after a failure")
	}
	r = NewRecord("test", make([]byte, 9), 0)
	for i := range r.Records("", 9, 1) {
		r.U8("value")
		if i == 4 {
			break
		}
	}
	if r.Offset() != 5 || r.Err() != nil {
		t.Errorf("at %d after 5 records, %v", r.Offset(), r.Err())
	}
}

// TestRecordOfManyFields remembers the last 32.
func TestRecordOfManyFields(t *testing.T) {
	r := NewRecord("test", make([]byte, 50), 1000)
	var want []Field
	for i := range 40 {
		r.U8(fmt.Sprintf("f%d", i))
		if i >= 8 {
			want = append(want, Field{fmt.Sprintf("f%d", i), int64(i), 1})
		}
	}
	if diff := cmp.Diff(want, r.Fields()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if r.At("f8") != 1008 || r.At("f39") != 1039 || r.At("f7") != 1000 {
		t.Errorf("offsets %d, %d; %d of a forgotten field", r.At("f8"), r.At("f39"), r.At("f7"))
	}
}

// TestRecordMoves reads bytes again that were read before.
func TestRecordMoves(t *testing.T) {
	r := NewRecord("test", numbered(10), 100)
	r.Skip("all", 10)
	r.MoveTo(103)
	if v := r.U8("x"); v != 4 || r.At("x") != 103 || r.Offset() != 104 {
		t.Errorf("%d at %d, then at %d", v, r.At("x"), r.Offset())
	}
	if diff := cmp.Diff([]byte{2, 3}, r.Window(101, 103)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	r.Continue(numbered(3), 200)
	if v := r.U16("y"); v != 0x0201 || r.At("y") != 200 || r.At("x") != 200 || r.Left() != 1 {
		t.Errorf("%#x at %d, %d are left", v, r.At("y"), r.Left())
	}
	r.Continue(numbered(10), 100)
	if r.Window(99, 101) != nil || r.Window(105, 104) != nil || r.Window(105, 111) != nil {
		t.Error("a window of bytes that were not read")
	}
}

// TestRecordDiscards: the head need not keep what was discarded, and offsets stay the same.
func TestRecordDiscards(t *testing.T) {
	r := HeadRecord("test", &growing{file: numbered(40)}, 10, 40)
	r.Begin()
	first := r.U16("first")
	r.Discard()
	second := r.U16("second")
	kept := r.U8("kept")
	if diff := cmp.Diff([]uint16{0x0c0b, 0x0e0d, 15}, []uint16{first, second, uint16(kept)}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]Field{{"first", 0, 2}, {"second", 2, 2}, {"kept", 4, 1}}, r.Fields()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if r.Offset() != 15 || r.At("first") != 10 || r.At("kept") != 14 || r.Left() != 25 {
		t.Errorf("at %d, fields at %d and %d, %d are left", r.Offset(), r.At("first"), r.At("kept"), r.Left())
	}
	if r.Window(10, 12) != nil || !bytes.Equal(r.Window(12, 15), []byte{13, 14, 15}) {
		t.Error("other windows")
	}
	r.MoveTo(12)
	if v := r.U16("again"); v != 0x0e0d || r.At("again") != 12 {
		t.Errorf("%#x at %d", v, r.At("again"))
	}
	r.BadRecord("row", tensor.ErrCorrupt, "wrong")
	if got, want := problemOf(r.Err()), (problem{tensor.ErrCorrupt, "row", 12}).String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r = NewRecord("test", numbered(10), 100)
	r.Skip("all", 10)
	r.Discard()
	if !bytes.Equal(r.Window(100, 102), []byte{1, 2}) {
		t.Error("a Record of memory discards")
	}
}

// TestListsEnd: beyond the ends of a list are zeros, also for a refused index that is negative on 32 bits.
func TestListsEnd(t *testing.T) {
	words := Uint32s(numbered(8))
	longs := Uint64s(numbered(16))
	for _, i := range []int{-1, 2, math.MinInt32, math.MaxInt32} {
		if words.At(i) != 0 || longs.At(i) != 0 {
			t.Errorf("item %d is %d, %d", i, words.At(i), longs.At(i))
		}
	}
}

// TestRecordOfFailingHead: an error of the file names the field that was read.
func TestRecordOfFailingHead(t *testing.T) {
	r := HeadRecord("test", &growing{err: tensor.ErrLimit}, 0, 100)
	r.U16("x")
	if got, want := problemOf(r.Err()), (problem{tensor.ErrLimit, "x", 0}).String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var zero Record
	if zero.U8("x") != 0 || !errors.Is(zero.Err(), tensor.ErrTruncated) {
		t.Errorf("the zero Record: %v", zero.Err())
	}
}

// TestRecordAllocates: reading records allocates nothing.
func TestRecordAllocates(t *testing.T) {
	b := make([]byte, 1000)
	total := uint64(0)
	allocs := testing.AllocsPerRun(10, func() {
		r := NewRecord("test", b, 0)
		for range r.Records("row", 20, 40) {
			total += uint64(r.U8("a")) + uint64(r.U16("b")) + uint64(r.U32("c")) + r.U64("d")
			total += r.Uint64s("e", 2).At(1) + uint64(len(r.Bytes("f", 3)))
			r.Fits("b", 1, 1)
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
	})
	if allocs != 0 || total == 0 {
		t.Errorf("%v allocations", allocs)
	}
}
