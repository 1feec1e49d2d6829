package engine

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// completed returns a copy of the plan with all sizes filled in and an index of
// its names, or what is wrong with it: a bad or repeated name, an unknown
// dtype, an overflowing shape. Drivers write some of it in the end, where its size was
// fixed in the beginning; the graph they all encode at once.
func completed(p *driver.Plan, d driver.Driver) (*driver.Plan, *names, error) {
	format := d.Describe().Name
	if p == nil {
		p = &driver.Plan{}
	}
	out := &driver.Plan{Metadata: slices.Clone(p.Metadata), Tensors: make([]tensor.Info, len(p.Tensors)), Graph: p.Graph, Native: p.Native}
	take := d.Describe().TakeValue
	if take == nil {
		take = driver.Number
	}
	for i := range out.Metadata {
		out.Metadata[i].Value = take(out.Metadata[i].Value)
	}
	index := newNames(out.Tensors)
	if err := (nesting{}).check(p.Graph); err != nil {
		return nil, nil, &tensor.Error{Format: format, Field: "graph", Offset: -1, Err: fmt.Errorf("%w: %w", driver.ErrPlan, err)}
	}
	dims := make(tensor.Shape, 0, rankSum(p.Tensors)) // of all shapes
	total := int64(0)
	for i := range p.Tensors {
		t := &p.Tensors[i]
		size, err := t.ByteSize()
		if e := t.Encoding; e != nil && e.BlockBytes <= 0 && t.Size >= 0 {
			size, err = t.Size, nil // which only its file says
		}
		if err == nil {
			err = tensor.CheckName(t.Name)
		}
		out.Tensors[i].Name = t.Name
		if err == nil && !index.add(i) {
			err = fmt.Errorf("%w: the name occurs twice", tensor.ErrCorrupt)
		}
		if total += size; err == nil && total < 0 {
			err = fmt.Errorf("%w: the sizes of all tensors overflow", tensor.ErrLimit)
		}
		if err != nil {
			return nil, nil, planError(format, t.Name, err)
		}
		shape := t.Shape
		if shape != nil {
			at := len(dims)
			dims = append(dims, shape...)
			shape = dims[at:len(dims):len(dims)]
		}
		out.Tensors[i] = tensor.Info{Name: t.Name, DType: t.DType, Shape: shape, Offset: -1, Size: size, Stored: size, Quant: t.Quant.Clone(), Encoding: t.Encoding}
	}
	return out, index, nil
}

// nesting has the graphs that were checked, false while one is: those within it come next.
type nesting map[*driver.Graph]bool

// check refuses a graph that contains itself, which no walk would come to an end of, and a list with
// none in it.
func (n nesting) check(g *driver.Graph) error {
	if g == nil || n[g] {
		return nil
	}
	if _, inside := n[g]; inside {
		return fmt.Errorf("%w: it contains itself", tensor.ErrCorrupt)
	}
	n[g] = false
	for i := range g.Nodes {
		for _, a := range g.Nodes[i].Attributes {
			list, _ := a.Value.([]*driver.Graph)
			if slices.Contains(list, nil) {
				return fmt.Errorf("%w: attribute %q of node %d has a graph that is nil", tensor.ErrCorrupt, a.Name, i)
			}
			if one, ok := a.Value.(*driver.Graph); ok {
				list = []*driver.Graph{one}
			}
			for _, sub := range list {
				if err := n.check(sub); err != nil {
					return err
				}
			}
		}
	}
	n[g] = true
	return nil
}

// rankSum adds up the ranks.
func rankSum(list []tensor.Info) (n int) {
	for i := range list {
		n += len(list[i].Shape)
	}
	return n
}

// planError says which tensor of a plan cannot be written.
func planError(format, name string, err error) error {
	return &tensor.Error{Format: format, Field: tensorField(name), Offset: -1, Err: fmt.Errorf("%w: %w", driver.ErrPlan, err)}
}
