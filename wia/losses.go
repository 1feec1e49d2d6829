package wia

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/attributes"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/tensor"
)

// losses lists what a file cannot hold of a plan.
func (d fileFormat) losses(p *driver.Plan, l *driver.LossList) {
	var from *original
	if d.from == nil {
		from = lose(p, l)
	}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if err := hasCode(t); err != nil {
			l.Fixed(driver.LossDType, t.Name, err)
		}
		if _, err := quantMessage(t); err != nil && d.from == nil && !from.quantizes(t) {
			l.Quantization(p, i, err)
		}
	}
	if d.from != nil {
		return
	}
	l.UniqueMetadata(p, func(i int, e driver.Entry) error {
		_, err := jsonmeta.Marshal(format.Metadata{e}, jsonmeta.Options{})
		if x, ok := e.Value.(float64); err == nil && ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
			l.ConvertedMetadata(p, i, fmt.Sprintf("JSON has no %v, a string takes its place", x))
		}
		return err
	})
	if p.Graph != nil && d.opts.Graph == nil && (from == nil || from.graph == nil) {
		graphLosses(p, l)
	}
}

func hasCode(t *tensor.Info) error {
	if codeOf(t.DType) == 0 {
		return fmt.Errorf("%w: the format has no %s", format.ErrUnsupported, t.TypeName())
	}
	return nil
}

// graphLosses looks at what only other formats have: dtypes, codes and
// attribute values.
func graphLosses(p *driver.Plan, l *driver.LossList) {
	attributeRules.Values(p.Graph, l)
	for i := range p.Graph.Nodes {
		for j := range p.Graph.Nodes[i].Attributes {
			attributeRules.Losses(p, i, j, l)
		}
	}
}

// checkTensor refuses what cannot be a tensor in an attribute.
func checkTensor(info tensor.Info) error {
	err := hasCode(&info)
	if err == nil && info.Size > maxAttributeTensor {
		err = fmt.Errorf("%w: a tensor of %d bytes inside a graph", format.ErrLimit, info.Size)
	}
	if err == nil {
		_, err = quantMessage(&info)
	}
	return err
}

// attributeRules is what the format has of the values of attributes.
var attributeRules = attributes.Rules{Tensor: checkTensor, Code: codeOf, Subgraph: func(g *format.Graph) error {
	if len(g.Initializers) > 0 {
		return errSubgraph
	}
	return nil
}}
