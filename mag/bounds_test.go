package mag

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/weightmap/weightmap/tensor"
)

// TestRecordSizes: a record whose key has no legal length has no size.
func TestRecordSizes(t *testing.T) {
	rec := make([]byte, tensorHead+8+4+maxKey+1)
	rec[1] = 1
	for n, want := range map[uint32]int{
		0: 0, 1: tensorHead + 8 + 4 + 1, maxKey: tensorHead + 8 + 4 + maxKey, maxKey + 1: 0, math.MaxUint32: 0,
	} {
		binary.LittleEndian.PutUint32(rec[tensorHead+8:], n)
		if got := tensorSize(rec, 0); got != want {
			t.Errorf("key of %d bytes: %d, want %d", n, got, want)
		}
	}
}

// TestProducts: products that reach 2^63 are noticed, also where their low 64 bits
// look innocent.
func TestProducts(t *testing.T) {
	for _, tt := range []struct {
		a, b uint64
		bad  int
	}{
		{3, 5, -1},
		{1<<32 + 1, 1<<32 + 1, 1}, // 2^64 + 2^33 + 1
		{1 << 32, 1 << 31, 1},
		{1 << 63, 1, 0},
		{1, 0, 1},
	} {
		b := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, tt.a), tt.b)
		if _, i := product(make(tensor.Shape, 2), b); i != tt.bad {
			t.Errorf("%d x %d: dim %d, want %d", tt.a, tt.b, i, tt.bad)
		}
	}
	for _, elems := range []int64{1 << 60, 1<<61 + 1, math.MaxInt64} {
		if n := byteSize(elems, tensor.Float64); n >= 0 {
			t.Errorf("%d elements of 8 bytes: %d", elems, n)
		}
	}
}
