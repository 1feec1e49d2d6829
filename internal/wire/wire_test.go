package wire

import (
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
	c := NewRecord("test", w, 100)
	got := []any{c.U8("a"), c.U16("b"), c.U32("c"), c.U64("d"), c.I32("e"), c.I64("f"), string(c.Bytes("i", 5)), c.Left(), c.Offset()}
	values := []any{uint8(0x12), uint16(0x3456), uint32(0x789abcde), uint64(0x0123456789abcdef), int32(-2), int64(math.MinInt64),
		"\x09\x08né", int64(3), int64(100 + len(want) - 3)}
	if d := cmp.Diff(values, got); d != "" || c.Err() != nil {
		t.Errorf("%v (-want +got)\n%s", c.Err(), d)
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
