package onnxgraph

import (
	"fmt"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
)

// Edit returns a messages.Edit of the format that changes nothing yet.
func (d *Dialect) Edit() *messages.Edit {
	return &messages.Edit{Schema: d.Schema, Tensor: d.Tensor, TensorName: d.TensorName}
}

// Lose adds the native fields of a graph to l, since the schema has another graph. That takes the
// initializers of graphs in attributes from Subgraphs.
func (d *Dialect) Lose(
	e *messages.Edit, graph messages.Message, p *schema.Schema, l *schema.LossList,
) {
	for _, k := range d.Kinds(d.Graph, graph, 1) {
		if k.Name == subgraphInitializers && p.Graph != nil {
			continue
		}
		err := fmt.Errorf("%w: %d, since the graph has changed", tensor.ErrUnsupported, k.Count)
		l.Native(k.Name, err)
		delete(e.Dropped, k.Name)
	}
}
