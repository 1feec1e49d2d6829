package load

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestLock: files are locked in memory when the model is open, those that are mapped later then.
func TestLock(t *testing.T) {
	testhost.NeedResident(t)
	const size = 3<<20 + 100
	dir := t.TempDir()
	path := filepath.Join(dir, "m.toy")
	put(t, path, make([]byte, size))
	put(t, filepath.Join(dir, "w.bin"), make([]byte, size))
	d := &toy{
		tensors: []driver.Tensor{u8("m", 0, size), in(1, u8("w", 0, size))},
		dir:     func(dir driver.Dir) error { _, err := dir.Declare("w.bin"); return err },
	}
	r, err := source.Open(path, source.Options{Parse: true})
	must(t, err)
	m := &Model{}
	defer m.Close()
	err = m.Open(r, config(d, func(c *Config) { c.Path, c.Options.Lock = path, true }))
	if errors.Is(err, tensor.ErrLimit) {
		t.Skip(err)
	}
	must(t, err)
	for i, want := range []int64{size, 2 * size} {
		if s := m.Stats(); s.Resident != want || s.Locked != want {
			t.Errorf("%d files: %d bytes are resident, %d locked, want %d", i+1, s.Resident, s.Locked, want)
		}
		_, err := m.Tensor("w")
		must(t, err)
	}
	if err := m.Evict(); err != nil || m.Stats().Resident != 2*size {
		t.Errorf("Evict took locked pages: %v", err)
	}
}

// TestLockRefused: what cannot be locked is an error.
func TestLockRefused(t *testing.T) {
	err := new(Model).Open(source.FromReaderAt(bytes.NewReader(make([]byte, 10)), 10), config(&toy{}, func(c *Config) { c.Options.Lock = true }))
	wantError(t, "a reader", err, driver.ErrUnsupported, "Options.Lock")
}
