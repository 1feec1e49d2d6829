package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestModels checks the sizes that the tables of figures state.
func TestModels(t *testing.T) {
	type size struct{ tensors, params int64 }
	for _, tt := range []struct {
		model Model
		want  size
	}{
		{small, size{20, 495_564}},
		{smallSingle, size{1, 495_564}},
		{large, size{300, 24_976_800}},
		{largeSingle, size{1, 24_976_800}},
		{many, size{10_000, 640_000}},
		{mnist, size{24, 893_642}},
		{cifar, size{40, 2_200_394}},
		{resNet50, size{267, 25_557_032 + 53_120 + 221}}, // its publishers state the first two figures
	} {
		p, data := tt.model.Schema()
		got := size{tensors: int64(len(p.Tensors)), params: int64(len(data) / 4)}
		expect.Equal(t, tt.want, got, cmp.AllowUnexported(size{}))
	}
}
