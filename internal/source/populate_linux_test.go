package source

import (
	"errors"
	"os"
	"testing"

	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestPopulate: pages are there before they are touched; of little, and after Evict, they are not.
func TestPopulate(t *testing.T) {
	testhost.NeedResident(t)
	const size = 1 << 20
	r, err := Open(temp(t, ramp(size)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tests := []struct{ off, n, want int64 }{
		{0, populateOver - 1, 0},
		{0, size, size},
		{size / 2, size / 2, size / 2},
		{100, populateOver, populateOver},
	}
	for _, tt := range tests {
		if err := evict(r); err != nil {
			t.Fatal(err)
		}
		r.Populate(tt.off, tt.n)
		if got := residentOf(r); got < tt.want || tt.want == 0 && got != 0 {
			t.Errorf("%d bytes at %d: %d are resident, want %d", tt.n, tt.off, got, tt.want)
		}
	}
}

// TestPopulateCutShort: what the file has lost is noticed by who reads it.
func TestPopulateCutShort(t *testing.T) {
	testhost.NeedCuts(t)
	const size = 1 << 20
	path := temp(t, ramp(size))
	r, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Truncate(path, size/2); err != nil {
		t.Fatal(err)
	}
	r.Populate(0, size)
	if n, err := r.ReadAt(make([]byte, size), 0); n != size/2 || !errors.Is(err, tensor.ErrTruncated) {
		t.Errorf("%d, %v", n, err)
	}
}
