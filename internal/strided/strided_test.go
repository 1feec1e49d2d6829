package strided

import (
	"bytes"
	"testing"
)

// TestGather compares with the definition, for all orders of three axes, repeated elements, and tiles.
func TestGather(t *testing.T) {
	for _, tt := range []struct{ shape, strides []int64 }{
		{[]int64{7}, []int64{3}}, {[]int64{1, 1}, []int64{5, 9}}, {nil, nil}, {[]int64{5, 6}, []int64{0, 2}},
		{[]int64{33, 70}, []int64{1, 33}}, {[]int64{33, 2, 65}, []int64{1, 33, 66}}, {[]int64{2, 3, 4, 5, 6}, []int64{1, 2, 6, 24, 120}},
		{[]int64{3, 4, 5}, []int64{20, 5, 1}}, {[]int64{3, 4, 5}, []int64{20, 1, 4}}, {[]int64{3, 4, 5}, []int64{5, 15, 1}},
		{[]int64{3, 4, 5}, []int64{4, 1, 12}}, {[]int64{3, 4, 5}, []int64{1, 15, 3}}, {[]int64{3, 4, 5}, []int64{1, 3, 12}},
	} {
		for _, size := range []int{1, 2, 16} {
			b := make([]byte, 5000*size)
			for i := range b {
				b[i] = byte(i * 7 / 3)
			}
			want := appendAll(nil, b, tt.shape, tt.strides, size)
			got := make([]byte, len(want))
			Gather(got, b, tt.shape, tt.strides, size)
			if !bytes.Equal(got, want) {
				t.Errorf("%v by %v of %d bytes", tt.shape, tt.strides, size)
			}
		}
	}
}

func appendAll(out, b []byte, shape, strides []int64, size int) []byte {
	if len(shape) == 0 {
		return append(out, b[:size]...)
	}
	for i := range shape[0] {
		out = appendAll(out, b[i*strides[0]*int64(size):], shape[1:], strides[1:], size)
	}
	return out
}
