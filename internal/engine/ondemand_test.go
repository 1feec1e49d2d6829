package engine

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// onDemandModel opens a model of three files, each with a tensor at the same place, and in
// the second one more that is not in the index.
func onDemandModel(t *testing.T, o source.Options, change ...func(*Config)) *Model {
	t.Helper()
	dir := t.TempDir()
	for i, name := range []string{"m.toy", "a.bin", "b.bin"} {
		b := ramp(64)
		for k := range b {
			b[k] += byte(100 * i)
		}
		put(t, filepath.Join(dir, name), b)
	}
	d := &toy{
		tensors: []driver.Tensor{u8("m", 8, 4), in(1, u8("a", 8, 4)), in(2, u8("b", 8, 4))},
		dir: func(dir driver.Dir) error {
			for _, name := range []string{"a.bin", "b.bin"} {
				if _, err := dir.Declare(name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	o.Parse = true
	path := filepath.Join(dir, "m.toy")
	r, err := source.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, r, d, append([]func(*Config){func(c *Config) { c.Path, c.Mapping = path, o }}, change...)...)
}

// TestOnDemand: files that are not mapped show the same, each its own, whole and in parts;
// the cache does not take one for another, and Evict empties it.
func TestOnDemand(t *testing.T) {
	testhost.NeedTimes(t)
	for _, cache := range []int64{0, 8, 1 << 20} {
		memory := new(driver.Memory)
		m := onDemandModel(t, source.Options{OnDemand: true}, func(c *Config) { c.Cache, c.Options.Memory = cache, memory })
		if s := m.Stats(); s.OnDemand != 64 || s.Mapped+s.Heap != 0 || !cmp.Equal(s.Copies, map[string]int{onDemand: 3}) || m.Notes() != nil {
			t.Errorf("as asked for: %+v, %q", s, m.Notes())
		}
		for range 2 {
			for name, want := range map[string]string{"m": "[8 9 10 11]", "a": "[108 109 110 111]", "b": "[208 209 210 211]"} {
				if got := bytesOf(t, m, name); got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
				v, err := m.Tensor(name)
				if err != nil {
					t.Fatal(err)
				}
				if s, err := v.Slice(tensor.Range{From: 1, To: 3}); err != nil || !cmp.Equal(mustBytes(t, s), mustBytes(t, v)[1:3]) {
					t.Errorf("a slice of %s: %v, or other bytes", name, err)
				}
				part := make([]byte, 2)
				if _, err := v.ReadAt(part, 2); err != nil || !cmp.Equal(part, mustBytes(t, v)[2:]) {
					t.Errorf("a part of %s: %v, %v", name, part, err)
				}
			}
			v := m.spaces.View(1, &tensor.Info{Name: "loose", DType: tensor.Uint8, Shape: tensor.Shape{3}, Offset: 20, Size: 3})
			if got := mustBytes(t, v); !cmp.Equal(got, []byte{120, 121, 122}) {
				t.Errorf("loose: %v", got)
			}
			part := make([]byte, 1)
			if _, err := v.ReadAt(part, 2); err != nil || part[0] != 122 {
				t.Errorf("a part of loose: %v, %v", part, err)
			}
		}
		if _, err := m.Verify(t.Context(), &VerifyOptions{}); err != nil {
			t.Error(err)
		}
		kept := m.Stats().Kept
		if kept > cache || cache > 100 && kept < 12 || memory.Used() < kept {
			t.Errorf("%d bytes are kept of %d, %d are counted", kept, cache, memory.Used())
		}
		before := memory.Used()
		if err := m.Evict(); err != nil || m.Stats().Kept != 0 || memory.Used() != before-kept {
			t.Errorf("after Evict: %v, %d bytes are kept, %d are counted", err, m.Stats().Kept, memory.Used())
		}
		if got := bytesOf(t, m, "a"); got != "[108 109 110 111]" {
			t.Errorf("after Evict: %s", got)
		}
	}
}

func mustBytes(t *testing.T, v tensor.View) []byte {
	t.Helper()
	b, err := v.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPartlyMapped: what does not fit into the space for mappings is read on demand, and
// the model says so.
func TestPartlyMapped(t *testing.T) {
	testhost.NeedTimes(t)
	testhost.NeedMaps(t)
	space := new(source.Space)
	space.Limit(130)
	m := onDemandModel(t, source.Options{Space: space})
	for name, want := range map[string]string{"a": "[108 109 110 111]", "m": "[8 9 10 11]"} {
		if got := bytesOf(t, m, name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if s := m.Stats(); s.Mapped != 128 || s.OnDemand != 0 || m.Notes() != nil {
		t.Errorf("as long as there is space: %+v, %q", s, m.Notes())
	}
	if got := bytesOf(t, m, "b"); got != "[208 209 210 211]" {
		t.Errorf("b: %s", got)
	}
	s := m.Stats()
	if s.Mapped != 128 || s.OnDemand != 64 || s.FileSize != 192 || s.ZeroCopy != 2 || !cmp.Equal(s.Copies, map[string]int{onDemand: 1}) {
		t.Errorf("%+v", s)
	}
	if want := []string{"the file is not mapped: it is read on demand"}; !cmp.Equal(m.Notes(), want) {
		t.Errorf("%q, want %q", m.Notes(), want)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
