package source

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
)

// TestUsed: pieces of a mapping that were used in place are known until they are evicted.
func TestUsed(t *testing.T) {
	const pieces = 70
	const size = pieces*PieceSize + 100
	for _, tt := range []struct {
		name string
		call func(r *Region)
		want []int // the pieces that are used
	}{
		{"nothing", func(r *Region) {}, nil},
		{"no bytes", func(r *Region) { r.MarkUsed(PieceSize, 0) }, nil},
		{"first byte", func(r *Region) { r.MarkUsed(0, 1) }, []int{0}},
		{"last byte", func(r *Region) { r.MarkUsed(size-1, 1) }, []int{pieces}},
		{"two pieces", func(r *Region) { r.MarkUsed(PieceSize-1, 2) }, []int{0, 1}},
		{"one after the other", func(r *Region) { r.MarkUsed(PieceSize, PieceSize); r.MarkUsed(31*PieceSize, 2*PieceSize) }, []int{1, 31, 32}},
		{"evicted", func(r *Region) {
			r.MarkUsed(0, 4*PieceSize)
			_, _ = r.Advise(memory.Evict, PieceSize-1, 2*PieceSize)
		}, []int{0, 2, 3}},
		{"evicted to the end", func(r *Region) {
			r.MarkUsed((pieces-2)*PieceSize, 2*PieceSize+100)
			_, _ = r.Advise(memory.Evict, (pieces-1)*PieceSize, PieceSize+100)
		}, []int{pieces - 2}},
		{"all evicted", func(r *Region) {
			r.MarkUsed(0, size)
			_, _ = r.Advise(memory.Evict, 0, size)
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := mustOpen(t, temp(t, make([]byte, size)), Options{})
			if !r.Mapped() {
				t.Skip("files are not mapped here")
			}
			tt.call(r)
			var got []int
			for i := range pieces + 1 {
				if r.IsUsed(int64(i)*PieceSize, min(PieceSize, size-int64(i)*PieceSize)) {
					got = append(got, i)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if r.IsUsed(0, size) {
				t.Error("all of it is used")
			}
		})
	}
	heap := FromBytes(make([]byte, 10))
	heap.MarkUsed(0, 10)
	if heap.IsUsed(0, 10) {
		t.Error("memory is no mapping")
	}
	r := mustOpen(t, temp(t, make([]byte, 1000)), Options{})
	r.MarkUsed(0, 1000)
	if r.Mapped() && !r.IsUsed(0, 1000) {
		t.Error("all of the file was used")
	}
	expect.OK(t, r.Close())
}
