package onnx

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestPadding: the padding is the least that aligns the data, also where it makes the length of the field longer.
func TestPadding(t *testing.T) {
	least := func(at, size, data int64) int64 {
		for n := int64(0); ; n++ {
			end := at + 1 + int64(protowire.SizeVarint(uint64(size+n))) + size + n
			if n != 1 && (end-data)%alignment == 0 {
				return n
			}
		}
	}
	for _, around := range []int64{100, 1 << 7, 1 << 14, 1 << 21, 1 << 28} {
		for size := around - 70; size < around+5; size++ {
			for at := range int64(alignment) {
				if got, want := paddingOf(at, size, size-30), least(at, size, size-30); got != want {
					t.Fatalf("%d bytes at %d: %d, want %d", size, at, got, want)
				}
			}
		}
	}
}
