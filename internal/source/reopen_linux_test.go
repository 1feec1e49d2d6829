package source

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestReopen: the file that is read is the one that is mapped, from the window on, and nothing else that has its name by then.
func TestReopen(t *testing.T) {
	data := ramp(100 << 10)
	path := temp(t, data)
	openings(t, path, Options{Parse: true}, func(t *testing.T, r *Region, base int64) {
		f, err := r.Reopen()
		must(t, err)
		defer f.Close()
		p := make([]byte, 1000)
		if n, err := f.ReadAt(p, 77); n != len(p) || err != nil || !bytes.Equal(p, data[base+77:][:len(p)]) {
			t.Errorf("%d, %v", n, err)
		}
		must(t, errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, data, 0o666)))
		if _, err := r.Reopen(); !errors.Is(err, ErrReplaced) {
			t.Errorf("another file: %v", err)
		}
		must(t, os.Remove(path))
		if _, err := r.Reopen(); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("no file: %v", err)
		}
		must(t, os.Rename(path+".old", path))
	})
	if _, err := FromBytes(data).Reopen(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("bytes: %v", err)
	}
}

// TestReopenCutShort: bytes that the file has lost are ErrTruncated, at the offset of the first, in the file and the mapping.
func TestReopenCutShort(t *testing.T) {
	testhost.NeedCuts(t)
	path := temp(t, ramp(100<<10))
	r := mustOpen(t, path, Options{})
	f, err := r.Reopen()
	must(t, err)
	defer f.Close()
	must(t, os.Truncate(path, 5000))
	var e *tensor.Error
	if n, err := f.ReadAt(make([]byte, 1000), 4500); n != 500 || !errors.Is(err, tensor.ErrTruncated) || !errors.As(err, &e) || e.Offset != 5000 {
		t.Errorf("%d, %v", n, err)
	}
	page := os.Getpagesize() // of the mapping, which shows zeros up to the end of the last page
	if n, err := r.ReadAt(make([]byte, 90000), 0); n != (5000+page-1)/page*page || !errors.Is(err, tensor.ErrTruncated) {
		t.Errorf("the mapping: %d, %v", n, err)
	}
}
