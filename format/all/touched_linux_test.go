package all_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestOpeningTouchesNothing: opening reads the structure of a file through its descriptor,
// in every format, so that no page of the mapping is touched before a tensor is used.
func TestOpeningTouchesNothing(t *testing.T) {
	testhost.NeedResident(t)
	for _, name := range format.Writable() {
		t.Run(name, func(t *testing.T) {
			path, p := filepath.Join(t.TempDir(), "0."+name), &format.Plan{}
			for i := range 40 {
				p.Tensors = append(p.Tensors, list(tensor.Float32, fmt.Sprint(i), 5<<10))
			}
			if name == "tsr" || name == "npy" { // whose tensor has the name of the file
				p.Tensors = p.Tensors[:1]
			}
			must(t, create(name, path, p, &format.WriteOptions{NoSync: true}))
			m := open(t, path, nil)
			if s := m.Stats(); s.Mapped == 0 || s.Heap != 0 || s.Resident != 0 {
				t.Errorf("%+v", s)
			}
			_, err := m.At(0).ReadInto(make([]byte, 20<<10))
			must(t, err)
			if s := m.Stats(); s.Resident == 0 {
				t.Error("reading a tensor touches nothing")
			}
		})
	}
}
