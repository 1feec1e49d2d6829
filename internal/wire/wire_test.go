package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestFields writes every kind of field and reads it back.
func TestFields(t *testing.T) {
	var w Buffer
	w.U8(0x12)
	w.U16(0x3456)
	w.U32(0)
	w.U64(0x0123456789abcdef)
	w.I32(-2)
	w.I64(math.MinInt64)
	w.Raw([]byte{9, 8})
	w.Str("né")
	w.Zeros(3)
	binary.LittleEndian.PutUint32(w[3:], 0x789abcde)
	want := []byte{
		0x12, 0x56, 0x34, 0xde, 0xbc, 0x9a, 0x78, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01,
		0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0x80, 9, 8, 'n', 0xc3, 0xa9, 0, 0, 0,
	}
	if d := cmp.Diff(want, []byte(w)); d != "" || len(w) != len(want) {
		t.Fatalf("%d bytes (-want +got)\n%s", len(w), d)
	}
	c := NewCursor("test", w, 100)
	got := []any{c.U8("a"), c.U16("b"), c.U32("c"), c.U64("d"), c.I32("e"), c.I64("f"), string(c.Bytes("i", 5)), c.Left(), c.Offset()}
	values := []any{uint8(0x12), uint16(0x3456), uint32(0x789abcde), uint64(0x0123456789abcdef), int32(-2), int64(math.MinInt64),
		"\x09\x08né", int64(3), int64(100 + len(want) - 3)}
	if d := cmp.Diff(values, got); d != "" || c.Err() != nil {
		t.Errorf("%v (-want +got)\n%s", c.Err(), d)
	}
}

// TestPastTheEnd reads each kind of field where all but its last byte are left.
func TestPastTheEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		size int
		read func(c *Cursor) any
		zero any
	}{
		"U8":  {1, func(c *Cursor) any { return c.U8("x") }, uint8(0)},
		"U16": {2, func(c *Cursor) any { return c.U16("x") }, uint16(0)},
		"U32": {4, func(c *Cursor) any { return c.U32("x") }, uint32(0)},
		"U64": {8, func(c *Cursor) any { return c.U64("x") }, uint64(0)},
		"I32": {4, func(c *Cursor) any { return c.I32("x") }, int32(0)},
		"I64": {8, func(c *Cursor) any { return c.I64("x") }, int64(0)},
	} {
		c := NewCursor("test", bytes.Repeat([]byte{0xff}, 10+tt.size-1), 1000)
		c.Bytes("before", 10)
		if got := tt.read(&c); got != tt.zero {
			t.Errorf("%s past the end = %v", name, got)
		}
		var e *tensor.Error
		if !errors.As(c.Err(), &e) || !errors.Is(e, tensor.ErrTruncated) || e.Format != "test" || e.Field != "x" || e.Offset != 1010 {
			t.Errorf("%s past the end: %v", name, c.Err())
		}
		if c.Offset() != 1010 {
			t.Errorf("%s past the end moves to %d", name, c.Offset())
		}
	}
}

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		n, size uint64
		ok      bool
	}{
		{0, 1, true}, {0, math.MaxUint64, true}, {10, 1, true}, {11, 1, false}, {2, 5, true}, {3, 5, false}, {3, 3, true}, {4, 3, false},
		{1, 11, false}, {1 << 32, 1 << 32, false}, {math.MaxUint64, 1, false}, {1 << 63, 2, false}, {math.MaxUint64, math.MaxUint64, false},
	} {
		c := NewCursor("test", make([]byte, 10), 7)
		got := c.Count("x", tt.n, tt.size)
		if tt.ok != (c.Err() == nil) || tt.ok && uint64(got) != tt.n || !tt.ok && got != 0 {
			t.Errorf("Count(%d, %d) of 10 bytes = %d, %v", tt.n, tt.size, got, c.Err())
		}
		if !tt.ok && !errors.Is(c.Err(), tensor.ErrTruncated) {
			t.Errorf("Count(%d, %d): %v, want ErrTruncated", tt.n, tt.size, c.Err())
		}
	}
}

// TestFirstErrorSticks: nothing after a failure counts, or moves the cursor.
func TestFirstErrorSticks(t *testing.T) {
	c := NewCursor("test", make([]byte, 10), 0)
	first := c.Fail("first", 3, tensor.ErrCorrupt)
	c.Failf("second", 4, tensor.ErrLimit, "too much")
	if c.Bytes("fourth", 1) != nil || c.Count("fifth", 2, 1) != 0 || c.U64("sixth") != 0 || c.Offset() != 0 {
		t.Error("reads go on after a failure")
	}
	if again := c.Fail("seventh", 5, tensor.ErrShape); again != first || c.Err() != first {
		t.Errorf("%v, want %v", c.Err(), first)
	}
	if got, want := first.Error(), "test: at 0x3: first: corrupt"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var zero Cursor
	if zero.U8("x") != 0 || !errors.Is(zero.Err(), tensor.ErrTruncated) {
		t.Errorf("the zero Cursor: %v", zero.Err())
	}
}

func TestAlignUp(t *testing.T) {
	for _, tt := range []struct{ n, to, want int64 }{{0, 64, 0}, {1, 64, 64}, {63, 64, 64}, {64, 64, 64}, {65, 64, 128}, {5, 1, 5}, {9, 8, 16}, {math.MaxInt64, 1, math.MaxInt64}} {
		expect.Equal(t, tt.want, AlignUp(tt.n, tt.to))
	}
}

// TestCheckSize: a buffer may have a size that this platform can address.
func TestCheckSize(t *testing.T) {
	for n, want := range map[int64]error{0: nil, 1 << 20: nil, 1 << 50: tensor.ErrLimit, math.MaxInt64: tensor.ErrLimit} {
		if err := CheckSize(n); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", n, err, want)
		}
	}
}
