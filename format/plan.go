package format

import (
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

// Plan says what a writer will write. Names, dtypes and shapes come first, so
// that sizes and places are known and data stream through once.
type Plan struct {
	Metadata Metadata
	// Tensors lists the tensors in file order. Name, DType, Shape and Quant count;
	// a writer ignores the rest.
	Tensors []tensor.Info
	Graph   *Graph
}

// PlanOf returns the plan that writes an open model again: its metadata,
// tensors with their quantisation, and graph. A format that cannot hold all of it
// refuses the plan, see LossError.
func PlanOf(m Model) (*Plan, error) {
	p := &Plan{Metadata: m.Metadata(), Tensors: make([]tensor.Info, 0, m.Len())}
	for _, v := range m.Tensors() {
		p.Tensors = append(p.Tensors, v.Info())
	}
	if g, ok := m.(Grapher); ok {
		var err error
		if p.Graph, err = g.Graph(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// completed returns a copy of the plan with all sizes filled in, or what is
// wrong with it: a bad or repeated name, an unknown dtype, an overflowing shape.
func (p *Plan) completed(format string) (*Plan, map[string]int, error) {
	if p == nil {
		p = &Plan{}
	}
	out := &Plan{Metadata: p.Metadata, Tensors: make([]tensor.Info, len(p.Tensors)), Graph: p.Graph}
	index := make(map[string]int, len(p.Tensors))
	total := int64(0)
	for i, t := range p.Tensors {
		size, err := t.Shape.ByteSize(t.DType)
		if err == nil {
			err = tensor.CheckName(t.Name)
		}
		if _, twice := index[t.Name]; err == nil && twice {
			err = fmt.Errorf("%w: the name occurs twice", tensor.ErrCorrupt)
		}
		if total += size; err == nil && total < 0 {
			err = fmt.Errorf("%w: the sizes of all tensors overflow", tensor.ErrLimit)
		}
		if err != nil {
			return nil, nil, planError(format, t.Name, err)
		}
		index[t.Name] = i
		out.Tensors[i] = tensor.Info{Name: t.Name, DType: t.DType, Shape: t.Shape.Clone(), Offset: -1, Size: size, Stored: size, Quant: t.Quant}
	}
	return out, index, nil
}

// planError says which tensor of a plan cannot be written.
func planError(format, name string, err error) error {
	return &Error{Format: format, Field: fmt.Sprintf("tensor %q", name), Offset: -1, Err: fmt.Errorf("%w: %w", ErrPlan, err)}
}
