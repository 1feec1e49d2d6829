package mobile

import (
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
}
