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

// pagedModel locks a model of two files of some pages each, the second of which is mapped
// when it is first used.
func pagedModel(t *testing.T) (*Model, error) {
	t.Helper()
	testhost.NeedResident(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "m.toy")
	put(t, path, make([]byte, pagedSize))
	put(t, filepath.Join(dir, "w.bin"), make([]byte, pagedSize))
	d := &toy{
		tensors: []driver.Tensor{u8("m", 0, pagedSize), in(1, u8("w", 0, pagedSize))},
		dir:     func(dir driver.Dir) error { _, err := dir.Declare("w.bin"); return err },
	}
	r, err := source.Open(path, source.Options{Parse: true})
	must(t, err)
	m := &Model{}
	t.Cleanup(func() { m.Close() })
	return m, m.Open(r, config(d, func(c *Config) { c.Path, c.Options.Lock = path, true }))
}

const pagedSize = 3<<20 + 100

// TestLock: files are locked in memory when the model is open, those that are mapped later then.
func TestLock(t *testing.T) {
	m, err := pagedModel(t)
	if errors.Is(err, tensor.ErrLimit) {
		t.Skip(err)
	}
	must(t, err)
	for i, want := range []int64{pagedSize, 2 * pagedSize} {
		if s := m.Stats(); s.Resident != want || s.Locked != want {
			t.Errorf("%d files: %d bytes are resident, %d locked, want %d", i+1, s.Resident, s.Locked, want)
		}
		if _, err := m.Tensor("w"); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Evict(); err != nil || m.Stats().Resident != 2*pagedSize {
		t.Errorf("Evict took locked pages: %v", err)
	}
}

// TestLockRefused: what cannot be locked is an error.
func TestLockRefused(t *testing.T) {
	err := new(Model).Open(source.FromReaderAt(bytes.NewReader(make([]byte, 10)), 10), config(&toy{}, func(c *Config) { c.Options.Lock = true }))
	wantError(t, "a reader", err, driver.ErrUnsupported, "Options.Lock")
}
