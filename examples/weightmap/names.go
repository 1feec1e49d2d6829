package main

import (
	"errors"
	"fmt"
	"iter"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// renamed is an open model whose tensors have the names that they had before its format
// numbered them, where the file keeps those (MOBI). The numbers find them as well.
type renamed struct {
	*format.Model
	former *format.Plan      // the model with those names, nil where the file has no others
	names  map[string]string // by number
	ids    map[string]string // the numbers by name
}

// named looks for such names.
func named(m *format.Model) *renamed {
	o := &renamed{Model: m, names: map[string]string{}, ids: map[string]string{}}
	if m.Format() != "mobi" {
		return o
	}
	p, err := format.PlanOf(m)
	if err == nil {
		err = m.RestoreNames(p)
	}
	if err != nil {
		return o // who needs the graph meets the error
	}
	i := 0
	for id := range m.Tensors() {
		if name := p.Tensors[i].Name; name != id {
			o.names[id], o.ids[name] = name, id
			o.former = p
		}
		i++
	}
	return o
}

// Tensors yields all tensors, in file order.
func (m *renamed) Tensors() iter.Seq2[string, tensor.View] {
	return func(yield func(string, tensor.View) bool) {
		for id, v := range m.Model.Tensors() {
			name, ok := m.names[id]
			if !ok {
				name = id
			}
			if !yield(name, v) {
				return
			}
		}
	}
}

// Tensor finds a tensor by its name, or by its number.
func (m *renamed) Tensor(name string) (tensor.View, error) {
	if id, ok := m.ids[name]; ok {
		name = id
	}
	return m.Model.Tensor(name)
}

// all lists the names of the tensors, and the numbers of those that have names.
func (m *renamed) all() (names []string) {
	for name, v := range m.Tensors() {
		if names = append(names, name); v.Name() != name {
			names = append(names, v.Name())
		}
	}
	return names
}

// find is Tensor, and suggests names for one that is misspelled.
func (m *renamed) find(name string) (tensor.View, error) {
	v, err := m.Tensor(name)
	if errors.Is(err, format.ErrNotFound) {
		err = fmt.Errorf("%w%s", err, cli.DidYouMean(name, "", m.all()))
	}
	return v, err
}

// Graph returns the graph with those names.
func (m *renamed) Graph() (*format.Graph, error) {
	if m.former != nil {
		return m.former.Graph, nil
	}
	return m.Model.Graph()
}

// given returns the metadata without what the format makes for any model.
func (m *renamed) given() format.Metadata {
	if m.former != nil {
		return m.former.Metadata
	}
	return m.Model.Metadata()
}
