package inspect

import (
	"fmt"
	"testing"
)

// TestLayerColors: layers next to each other in the treemap or the bar have different colors, also
// if the file has more layers than the page has colors.
func TestLayerColors(t *testing.T) {
	r := &report{}
	var layers []string
	for i := range 48 {
		layers = append(layers, fmt.Sprintf("model.layers.%d", i))
		for _, part := range []string{"q", "k", "v", "up", "down"} {
			r.Tensors = append(r.Tensors, tensorReport{Name: fmt.Sprintf("model.layers.%d.%s.weight", i, part), DType: "float16", Shape: []int64{64}, Bytes: 1 << 20})
		}
	}
	root := tree(r.Tensors)
	colors := colorLayers(root, layers)
	pairs := 0
	for a, others := range layerNeighbors(root, layers) {
		for b := range others {
			pairs++
			if colors[a] == colors[b] {
				t.Errorf("%s and %s both have color %d", a, b, colors[a])
			}
		}
	}
	if pairs < 4*len(layers) {
		t.Errorf("%d neighbors", pairs)
	}
}
