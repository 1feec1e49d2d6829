package convert

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// makePlan determines the changes to each tensor, and the schema of the target.
func (j *job) makePlan(m *format.Model) error {
	s, err := m.Schema()
	if err != nil {
		return err
	}
	err = m.RestoreNames(s)
	if err != nil {
		return err
	}
	j.plan.schema = s
	before := s.Graph
	for i, info := range s.Tensors {
		j.plan.items = append(j.plan.items, &item{from: m.At(i), to: info})
	}
	j.translate(m, s)
	j.leaveOwn(m, s)
	if j.o.JoinScales {
		err := j.join(m, s.Graph)
		if err != nil {
			return err
		}
	}
	j.plan.uses = usesOf(s.Graph, j.plan.byName())
	gone := j.drop()
	err = j.packed(m, s.Graph)
	if err != nil {
		return err
	}
	names, err := j.changeAll(m)
	if err != nil {
		return err
	}
	err = j.observeAll(m)
	if err != nil {
		return err
	}
	err = j.graph(m, gone, names)
	if err != nil {
		return err
	}
	err = j.dequantize()
	if err != nil {
		return err
	}
	err = j.fit()
	if err != nil {
		return err
	}
	s.Tensors = j.plan.infos()
	j.followDocs(before, names)
	return j.refuse()
}

// drop removes the tensors that are not to be kept, and returns their names.
func (j *job) drop() map[string]bool {
	gone := make(map[string]bool)
	j.plan.items = slices.DeleteFunc(j.plan.items, func(it *item) bool {
		gone[it.to.Name] = j.o.Keep != nil && !j.o.Keep(it.to)
		return gone[it.to.Name]
	})
	return gone
}

// changeAll determines the new types and names of all tensors. It returns the new names by the old
// ones.
func (j *job) changeAll(m *format.Model) (map[string]string, error) {
	names := make(map[string]string, len(j.plan.items))
	owners := make(map[string]string) // names before by names after, if there is Rename
	native := j.plan.schema.Native
	if native != nil {
		native.Renamed = make(map[string]string)
	}
	for _, it := range j.plan.items {
		name := it.to.Name
		err := j.change(it)
		if err != nil {
			return nil, named(m, name, err)
		}
		if j.o.Rename != nil {
			it.to.Name = j.o.Rename(name)
			other, taken := owners[it.to.Name]
			if taken {
				err := fmt.Errorf("%w: tensors %q and %q would both be called %q%.0w", format.ErrOption, other,
					name, it.to.Name, format.ErrSchema)
				return nil, &tensor.Error{Format: j.format, Field: "Rename", Offset: -1, Err: err}
			}
			owners[it.to.Name] = name
		}
		if native != nil && it.to.Name != name {
			native.Renamed[it.to.Name] = name
		}
		names[name] = it.to.Name
	}
	return names, nil
}

// observeAll determines the parameters of all tensors that become integers.
func (j *job) observeAll(m *format.Model) error {
	items := j.plan.items
	return work.Each(j.ctx, len(items), workersFor(items), func(i int) error {
		it := items[i]
		if it.z == nil || it.to.Encoding != nil {
			return nil
		}
		return named(m, it.from.Name(), j.observe(it))
	})
}

// byName returns the items by their names in the target.
func (p *plan) byName() map[string]*item {
	items := make(map[string]*item, len(p.items))
	for _, it := range p.items {
		items[it.to.Name] = it
	}
	return items
}

// change determines the new dtype of a tensor, or the options to quantize it.
func (j *job) change(it *item) error {
	if !isReal(&it.to) {
		return nil
	}
	if _, used := j.plan.uses[it.to.Name]; used && it.to.Encoding != nil &&
		lowbit.IsInteger(it.to.Encoding.Name) {
		return nil // DequantizeLinear nodes interpret it
	}
	to := j.o.DType
	if to != tensor.Invalid && it.to.Quant != nil && it.from.Info().Quant == nil {
		return unsupported("nodes of the graph quantize it, so its dtype cannot change")
	}
	q, why := j.quantizes(&it.to)
	switch {
	case why != "":
		j.report.Stayed = append(j.report.Stayed, Stayed{it.to.Name, why})
	case q != nil && q.DType == tensor.Float16 && q.Encoding == nil:
		to = tensor.Float16
	case q != nil:
		return it.quantize(q)
	}
	if to != tensor.Invalid && to != it.to.DType {
		if q := it.to.Quant; q != nil { // conversion looks at pieces only
			if err := q.Check(it.to.DType, it.to.Shape); err != nil {
				return err
			}
		}
		it.to = tensor.Info{Name: it.to.Name, DType: to, Shape: it.to.Shape}
		it.changes = true
	}
	return nil
}

// isReal reports whether a tensor represents real numbers that the library can decode.
func isReal(t *tensor.Info) bool {
	if t.Encoding != nil {
		return t.Encoding.Decode != nil && t.Encoding.BlockElems > 0
	}
	return t.Quant != nil || t.DType == tensor.Float64 || wider[t.DType] != nil
}

// quantize sets the type of a quantized tensor. Integers lack their parameters until observe.
func (it *item) quantize(q *tensor.QuantizeOptions) (err error) {
	it.z, err = tensor.NewQuantizer(it.to.Shape, *q)
	it.to = tensor.Info{Name: it.to.Name, Shape: it.to.Shape, Encoding: q.Encoding}
	if q.Encoding == nil {
		it.to.DType = cmp.Or(q.DType, tensor.Int8)
	}
	it.changes = true
	return err
}

// observe reads a tensor to determine its quantization parameters.
func (j *job) observe(it *item) error {
	err := j.read.each(it.from, func(p *piece) error {
		numbers, err := decode(p, &p.mem.single)
		if err != nil {
			return err
		}
		return it.z.Observe(numbers)
	})
	if err != nil {
		return err
	}
	it.to.Quant, err = it.z.Parameters()
	return err
}

// graph removes and renames tensors in the graph.
func (j *job) graph(m *format.Model, gone map[string]bool, names map[string]string) error {
	if j.plan.schema.Graph == nil || j.o.Keep == nil && j.o.Rename == nil {
		return nil
	}
	g := j.plan.schema.Graph.Clone()
	j.plan.schema.Graph = g
	forget(g, gone)
	for _, v := range g.Inputs {
		delete(gone, v.Name) // the tensor was only its default value
	}
	lost := ""
	called := make(map[string]bool)
	g.Values(func(s *string) {
		called[*s] = true
		if lost == "" && gone[*s] {
			lost = *s
		}
	})
	if lost != "" {
		l := schema.Loss{Kind: schema.LossGraph,
			Why: fmt.Sprintf("it uses tensor %q, which is not kept", lost), Acceptable: true}
		j.plan.schema.Graph = nil
		if j.accept(l) {
			return nil
		}
		return located(m, "graph", fmt.Errorf("%w: %s", format.ErrSchema, l.Why))
	}
	for _, it := range j.plan.items {
		if _, old := names[it.to.Name]; !old && called[it.to.Name] {
			return named(m, it.from.Name(), fmt.Errorf("%w: the graph calls another value %q, which is to be its new name", format.ErrSchema, it.to.Name))
		}
	}
	g.Values(func(s *string) {
		name, ok := names[*s]
		if ok {
			*s = name
		}
	})
	g.Walk(func(g *schema.Graph) { rename(g.Initializers, names) })
	return nil
}

// rename replaces the names in a list that have a new one.
func rename(list []string, names map[string]string) {
	for i, old := range list {
		name, ok := names[old]
		if ok {
			list[i] = name
		}
	}
}

// forget removes tensors from the lists of declared ones.
func forget(g *schema.Graph, gone map[string]bool) {
	g.Walk(func(g *schema.Graph) {
		g.Initializers = slices.DeleteFunc(g.Initializers, func(s string) bool { return gone[s] })
	})
}

// named adds the tensor's name to an error that has no location.
func named(m *format.Model, name string, err error) error {
	return located(m, fmt.Sprintf("tensor %q", name), err)
}

// unsupported returns an ErrUnsupported.
func unsupported(text string, values ...any) error {
	return fmt.Errorf("%w: "+text, append([]any{format.ErrUnsupported}, values...)...)
}

// located adds the model and a field to an error that has no location.
func located(m *format.Model, field string, err error) error {
	if err == nil || errors.As(err, new(*tensor.Error)) {
		return err
	}
	return &tensor.Error{Format: m.Format(), Path: m.Path(), Field: field, Offset: -1, Err: err}
}
