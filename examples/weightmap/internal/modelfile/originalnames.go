package modelfile

import (
	"errors"
	"fmt"
	"iter"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// NamedModel is an open model in which tensors have their original names, if the format numbers
// tensors but stores the names (MOBI). Tensors can be found by number, too.
type NamedModel struct {
	*format.Model
	former *schema.Schema    // the model with original names, nil if there are none
	names  map[string]string // by number
	ids    map[string]string // number by name

	// Set by fold.
	combined map[string]tensor.View // tensors with their scales, by name
	added    []string               // names of them that no tensor of the file has
	gone     map[string]bool        // tensors that are a part of others
	real     map[string]string      // tensors by the values that DequantizeLinear makes of them
}

// Named returns m with its original names, if it has any.
func Named(m *format.Model) *NamedModel {
	o := &NamedModel{Model: m, names: map[string]string{}, ids: map[string]string{}}
	if m.Format() != "mobi" {
		return o
	}
	p, err := m.Schema()
	if err != nil {
		return o // reported by commands that need the graph
	}
	err = m.RestoreNames(p)
	if err != nil {
		return o // as above
	}
	i := 0
	for id := range m.Tensors() {
		if name := p.Tensors[i].Name; name != id {
			o.names[id] = name
			o.ids[name] = id
			o.former = p
		}
		i++
	}
	return o
}

// Tensors yields all tensors, in file order.
func (m *NamedModel) Tensors() iter.Seq2[string, tensor.View] {
	return func(yield func(string, tensor.View) bool) {
		for id, v := range m.Model.Tensors() {
			name, ok := m.names[id]
			if !ok {
				name = id
			}
			if m.gone[name] {
				continue
			}
			if whole, ok := m.combined[name]; ok {
				v = whole
			}
			if !yield(name, v) {
				return
			}
		}
		for _, name := range m.added {
			if !yield(name, m.combined[name]) {
				return
			}
		}
	}
}

// Tensor returns the tensor with a name or a number.
func (m *NamedModel) Tensor(name string) (tensor.View, error) {
	if v, ok := m.combined[name]; ok {
		return v, nil
	}
	if id, ok := m.ids[name]; ok {
		name = id
	}
	v, err := m.Model.Tensor(name)
	if m.gone[name] && err == nil {
		err = fmt.Errorf("%w: %q is a part of another tensor", format.ErrNotFound, name)
	}
	return v, err
}

// All returns the names of the tensors, and the numbers of those with names.
func (m *NamedModel) All() (names []string) {
	for name, v := range m.Tensors() {
		names = append(names, name)
		if v.Name() != name {
			names = append(names, v.Name())
		}
	}
	return names
}

// Find is like Tensor, and suggests names if none matches.
func (m *NamedModel) Find(name string) (tensor.View, error) {
	v, err := m.Tensor(name)
	if errors.Is(err, format.ErrNotFound) {
		err = fmt.Errorf("%w%s", err, cli.DidYouMean(name, "", m.All()))
	}
	return v, err
}

// Graph returns the graph with the original names.
func (m *NamedModel) Graph() (*schema.Graph, error) {
	if m.former != nil {
		return m.former.Graph, nil
	}
	return m.Model.Graph()
}
