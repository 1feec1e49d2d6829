package bench

import (
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/mobi"
)

// TestMOBISizes: files meet the specification's sizes and its fraction of the float32 original. (Types
// of 16 bits take exactly half of it, plus headers, operators and scales.)
func TestMOBISizes(t *testing.T) {
	for _, m := range mobiModels {
		for _, d := range mobiTypes {
			for _, level := range []int{0, 6} {
				t.Run(fmt.Sprintf("%s/%v/gzip%d", m.name, d, level), func(t *testing.T) {
					b, err := m.encoded(d, level)
					if err != nil {
						t.Fatal(err)
					}
					limit := m.float32Size() / 2
					if level == 0 && d.Size() == 2 {
						limit += mobiOverhead(t, b)
					}
					if size := int64(len(b)); size > limit || float64(size) >= m.mb*1e6 {
						t.Errorf("%d bytes, %.1f %% of float32; at most %d and %v MB", size, 100*float64(size)/float64(m.float32Size()), limit, m.mb)
					}
					if err := mobi.ValidateBytes(b); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// mobiOverhead returns the bytes of a file that are not tensor data.
func mobiOverhead(t *testing.T, b []byte) int64 {
	f, err := mobi.OpenBytes(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := int64(len(b))
	for _, v := range f.Tensors() {
		n -= v.Info().Size
	}
	return n
}
