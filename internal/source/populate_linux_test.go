package source

import (
	"errors"
	"os"
	"testing"

	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

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
