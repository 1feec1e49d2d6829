package engine

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// pagedModel opens a model of two files of some pages each, the second of which is mapped
// when it is first used.
func pagedModel(t *testing.T, o source.Options) (*Model, error) {
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
	o.Parse = true
	r, err := source.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{}
	t.Cleanup(func() { m.Close() })
	return m, m.Open(r, config(d, func(c *Config) { c.Path, c.Mapping = path, o }))
}

const pagedSize = 3<<20 + 100

// TestEvict: the pages of all files of a model leave the process, and come back when they
// are used.
func TestEvict(t *testing.T) {
	m, err := pagedModel(t, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Stats(); s.Resident != 0 {
		t.Errorf("%d bytes are resident that nobody touched", s.Resident)
	}
	for range 2 {
		for i, want := range []int64{pagedSize, 2 * pagedSize} {
			if _, err := m.At(i).Digest(); err != nil {
				t.Fatal(err)
			}
			if s := m.Stats(); s.Resident != want {
				t.Errorf("%d bytes are resident after %d files were read", s.Resident, i+1)
			}
		}
		if err := m.Evict(); err != nil || m.Stats().Resident != 0 {
			t.Errorf("after Evict %d bytes are resident: %v", m.Stats().Resident, err)
		}
	}
}

// TestHold: files are brought into memory and locked when the model is open, those that are
// mapped later then; a copy that the parser needs is no such use.
func TestHold(t *testing.T) {
	for _, o := range []source.Options{{Populate: true}, {Lock: true}, {Lock: true, Populate: true}, {Lock: true, Private: true}} {
		m, err := pagedModel(t, o)
		if errors.Is(err, tensor.ErrLimit) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int64{pagedSize, 2 * pagedSize} {
			if o.Private {
				want = 2 * pagedSize // all of it is copied at once
			}
			locked := want
			if !o.Lock {
				locked = 0
			}
			if s := m.Stats(); s.Resident != want || s.Locked != locked {
				t.Errorf("%+v, %d files: %d bytes are resident, %d locked, want %d", o, i+1, s.Resident, s.Locked, want)
			}
			if _, err := m.Tensor("w"); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Evict(); err != nil || o.Lock && m.Stats().Resident != 2*pagedSize {
			t.Errorf("%+v: Evict took locked pages: %v", o, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestHoldRefused: what cannot be held is no silence, neither at once nor later.
func TestHoldRefused(t *testing.T) {
	for field, o := range map[string]source.Options{
		"Options.Lock":     {OnDemand: true, Lock: true, Populate: true},
		"Options.Populate": {OnDemand: true, Populate: true},
	} {
		_, err := pagedModel(t, o)
		wantError(t, field, err, driver.ErrUnsupported, field)
	}
	space := new(source.Space)
	space.Limit(pagedSize)
	m, err := pagedModel(t, source.Options{Space: space, Populate: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Tensor("w")
	wantError(t, "a later file", err, driver.ErrUnsupported, `tensor "w"`)
	if _, err := m.Tensor("m"); err != nil {
		t.Error(err)
	}
}
