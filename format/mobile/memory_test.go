package mobile

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestMemoryOptions: what options say about memory is done, and the model says the same.
func TestMemoryOptions(t *testing.T) {
	testhost.NeedResident(t)
	file, want := sample(t)
	path := save(t, "m.mag", file)
	size := int64(len(file))
	type memory struct{ Mapped, Heap, OnDemand, Locked, Kept int64 }
	tests := []struct {
		name    string
		options Options
		want    memory
		aligned bool // views are the file itself
	}{
		{"none", Options{}, memory{Mapped: size}, true},
		{"no room", Options{MaxMapped: size - 1}, memory{OnDemand: size}, false},
		{"room", Options{MaxMapped: size}, memory{Mapped: size}, true},
		{"on demand", Options{OnDemand: true}, memory{OnDemand: size}, false},
		{"populated", Options{Populate: true}, memory{Mapped: size}, true},
		{"locked", Options{Lock: true}, memory{Mapped: size, Locked: size}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := Open(path, &test.options)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			s := m.m.Stats()
			if got := (memory{s.Mapped, s.Heap, s.OnDemand, s.Locked, s.Kept}); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
			got := describe(t, m)
			for i := range got.Tensors {
				if !test.aligned {
					got.Tensors[i].ZeroCopy = want.Tensors[i].ZeroCopy
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	t.Run("kept", func(t *testing.T) {
		m, err := Open(path, &Options{OnDemand: true, CacheBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		describe(t, m)
		if m.m.Stats().Kept == 0 {
			t.Error("nothing is kept")
		}
	})
	t.Run("private", func(t *testing.T) {
		m, err := Open(path, &Options{Private: true})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil { // in place
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, describe(t, m)); diff != "" {
			t.Errorf("what is written over the file shows (-want +got)\n%s", diff)
		}
	})
}
