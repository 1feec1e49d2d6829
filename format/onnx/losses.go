package onnx

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/internal/textmeta"
)

// Losses implements driver.Writer.
func (fileFormat) Losses(p *schema.Schema, _ *driver.LayoutOptions, l *schema.LossList) error {
	file, err := originalOf(p, l)
	if err != nil {
		l.Native("", err)
	}
	docLosses(p, l)
	l.AllQuantization(p, "ONNX stores quantization parameters only as inputs of operators")
	for i := range p.Tensors {
		t := &p.Tensors[i]
		err := file.check(t)
		if err != nil {
			l.Fixed(schema.LossDType, t.Name, err)
		}
		if len(t.Shape) > maxRank {
			err = fmt.Errorf("%w: %d dims", format.ErrUnsupported, len(t.Shape))
			l.Fixed(schema.LossShape, t.Name, err)
		}
	}
	h := header{file: file, keys: map[string]bool{}}
	for i, e := range p.Metadata {
		err := h.take(e)
		if err != nil {
			l.Metadata(p, i, err)
		}
	}
	for i, e := range p.Metadata {
		if e.Key != textmeta.Key {
			continue
		}
		err := textmeta.Check(h.entries, e)
		if err != nil {
			l.Metadata(p, i, err)
		}
	}
	if p.Graph != nil && file.graph == nil {
		graphLosses(p, file, l)
	}
	return nil
}

// graphLosses lists operators, dtypes and attribute values that only other formats have.
func graphLosses(p *schema.Schema, file *original, l *schema.LossList) {
	g := p.Graph
	l.Initializers(p, "all tensors of a file are initializers of its graph")
	sets, _ := p.Metadata.Get(opsets.Key)
	if sets == nil { // else the operators are ONNX's, of some version
		operatorLosses(g, l)
	}
	dialect.Losses(p, file.inner, l)
}

// operatorLosses refuses operators that ONNX's own set does not have, in graphs within nodes too.
func operatorLosses(g *schema.Graph, l *schema.LossList) {
	for i := range g.Nodes {
		op := unknownOperator(&schema.Graph{Nodes: g.Nodes[i : i+1]})
		if op == "" {
			continue
		}
		err := fmt.Errorf(
			"%w: ONNX has no operator %q, and no metadata entry %q says which sets are meant",
			format.ErrUnsupported, op, opsets.Key)
		l.Graph(fmt.Sprintf("nodes[%d] (%s)", i, g.Nodes[i].Op), err)
	}
}

// unknownOperator returns the first operator that ONNX's own set does not have, "" for none.
func unknownOperator(g *schema.Graph) (op string) {
	g.Walk(func(g *schema.Graph) {
		for _, n := range g.Nodes {
			if op == "" && isOwn(n.Domain) && !opsets.Known(n.Op) {
				op = n.Op
			}
		}
	})
	return op
}
