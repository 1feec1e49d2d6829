package onnx

import (
	"fmt"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/attributes"
	"github.com/weightmap/weightmap/internal/opsets"
)

// losses lists what a file cannot hold of a plan.
func losses(p *driver.Plan, l *driver.LossList) {
	l.AllQuantization(p, "ONNX has quantization parameters as tensors of operators only")
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if codeOfTensor(t) == 0 {
			l.Fixed(driver.LossDType, t.Name, fmt.Errorf("%w: the format has no %s", format.ErrUnsupported, t.TypeName()))
		}
		if len(t.Shape) > maxRank {
			l.Fixed(driver.LossShape, t.Name, fmt.Errorf("%w: %d dims", format.ErrUnsupported, len(t.Shape)))
		}
	}
	var h header
	for i, e := range p.Metadata {
		converted, err := h.take(e)
		switch {
		case err != nil:
			l.Metadata(p, i, err)
		case converted:
			l.ConvertedMetadata(p, i, "the format has strings, one takes the place of "+driver.TypeName(e.Value))
		}
	}
	if p.Graph != nil {
		graphLosses(p, l)
	}
}

// attributeRules is what the format has of the values of attributes.
var attributeRules = attributes.Rules{Tensor: checkTensor, Code: codeOf, Subgraph: func(g *driver.Graph) error {
	if len(g.Initializers) > 0 {
		return fmt.Errorf("%w: initializers of a subgraph, whose data a plan does not have", format.ErrUnsupported)
	}
	for i := range g.Nodes {
		if err := checkOperator(&g.Nodes[i]); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	return nil
}}

// graphLosses looks at what only other formats have: operators, dtypes, attribute values.
func graphLosses(p *driver.Plan, l *driver.LossList) {
	g := p.Graph
	l.Initializers(p, "all tensors of a file are initializers of its graph")
	attributeRules.Values(g, l)
	sound := true
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if err := checkOperator(n); err != nil {
			l.Graph(fmt.Sprintf("nodes[%d] (%s)", i, n.Op), err)
			sound = false
		}
		for j := range n.Attributes {
			if n.Attributes[j].Value == nil {
				l.Attribute(p, i, j, fmt.Errorf("%w: an attribute without a value", format.ErrUnsupported))
				continue
			}
			attributeRules.Losses(p, i, j, l)
		}
	}
	if !sound {
		return
	}
	// What the reader would refuse is not written. Attributes were looked at.
	bare := *g
	bare.Nodes = make([]driver.Node, len(g.Nodes))
	for i, n := range g.Nodes {
		n.Attributes = append([]driver.Attribute(nil), n.Attributes...)
		for j := range n.Attributes {
			n.Attributes[j].Value = int64(0)
		}
		bare.Nodes[i] = n
	}
	m, err := graphMessage(&bare)
	if err == nil {
		err = checkGraph(graphMsg.Append(nil, m), len(p.Tensors))
	}
	if err != nil {
		l.Graph("", err)
	}
}

// checkOperator refuses operators of ONNX's own set that it does not have.
func checkOperator(n *driver.Node) error {
	if n.Domain != "" && n.Domain != "ai.onnx" || opsets.Known(n.Op) {
		return nil
	}
	return fmt.Errorf("%w: ONNX has no operator %q", format.ErrUnsupported, n.Op)
}

// checkText refuses what is no UTF-8.
func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%w: invalid UTF-8", format.ErrCorrupt)
	}
	return nil
}
