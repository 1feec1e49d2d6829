package source

import (
	"bytes"
	"errors"
	"os"
	"testing"

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
