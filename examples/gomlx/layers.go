package gomlx

import (
	"context"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/weightmap/weightmap/format"
)

// Layer is the weights that a network uses at a time.
type Layer struct {
	Name    string // of the node that uses them first, or what their names begin with
	Weights map[string]*tensors.Tensor

	names []string // of the weights, in the order of their use
}

// Layers loads one layer of m after the other, in the order in which the network uses them, and
// calls ready with each, such as to transfer it to a device (Tensor.MaterializeOnDevice). Meanwhile
// it loads the next one. So the first layer is ready after its own time, not that of the model.
//
// The graph of a model has the order. In a model without one, layers are in the order of the file.
func Layers(ctx context.Context, m *format.Model, ready func(Layer) error) error {
	layers, err := layersOf(m)
	if err != nil {
		return err
	}
	loaded := make(chan Layer)
	var failed error
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		for range loaded { // until the goroutine has ended
		}
	}()
	go func() {
		defer close(loaded)
		for _, l := range layers {
			l.Weights, failed = load(ctx, m, l.names)
			if failed != nil {
				return
			}
			loaded <- l
		}
	}()
	for l := range loaded {
		err := ready(l)
		if err != nil {
			return err
		}
	}
	return failed
}

// layersOf returns the names of the layers and of their weights. What the graph does not use comes
// last.
func layersOf(m *format.Model) ([]Layer, error) {
	g, err := m.Graph()
	if err != nil {
		return nil, err
	}
	var layers []Layer
	isListed := map[string]bool{}
	if g != nil {
		for _, node := range g.Nodes {
			l := Layer{Name: node.Name}
			for _, name := range node.Inputs {
				_, err := m.Tensor(name)
				if err == nil && !isListed[name] {
					l.names = append(l.names, name)
					isListed[name] = true
				}
			}
			if len(l.names) > 0 {
				layers = append(layers, l)
			}
		}
	}
	for name := range m.Tensors() {
		if isListed[name] {
			continue
		}
		layer := layerName(name)
		if len(layers) == 0 || layers[len(layers)-1].Name != layer {
			layers = append(layers, Layer{Name: layer})
		}
		last := &layers[len(layers)-1]
		last.names = append(last.names, name)
	}
	return layers, nil
}

// layerName returns a name up to its first number: "model.layers.3" of "model.layers.3.mlp.weight".
func layerName(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			return strings.Join(parts[:i+1], ".")
		}
	}
	return name
}
