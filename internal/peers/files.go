package main

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/internal/testmodel"
	"github.com/weightmap/weightmap/tensor"
)

// model is what every library opens.
type model struct {
	name    string // as the table's column
	tensors []tensor.Info
	data    func(i int) []byte
}

func models() []model {
	return []model{
		modelOf("20 tensors, 2 MB", testmodel.Small(), testmodel.Tensor.Info, testmodel.Tensor.Bytes),
		modelOf("300 tensors, 100 MB", testmodel.Large(), testmodel.Spec.Info, generated),
		modelOf("10,000 tensors of 256 bytes", testmodel.Many(), testmodel.Spec.Info, generated),
	}
}

func generated(s testmodel.Spec) []byte { return s.Tensor().Bytes() }

func modelOf[T any](name string, list []T, info func(T) tensor.Info, data func(T) []byte) model {
	m := model{name: name, data: func(i int) []byte { return data(list[i]) }}
	for _, t := range list {
		m.tensors = append(m.tensors, info(t))
	}
	return m
}

// entry is what a library says of a tensor.
type entry struct {
	Name string
	Size int64
}

// entries is what every library should say. MOBI has numbers for names.
func (m *model) entries(numbered bool) (all []entry) {
	for i, t := range m.tensors {
		e := entry{t.Name, t.Size}
		if numbered {
			e.Name = strconv.Itoa(i)
		}
		all = append(all, e)
	}
	return all
}

// write writes the model to path, numbered if the format has no names.
func (m *model) write(path, name string) error {
	p := &format.Plan{Tensors: slices.Clone(m.tensors)}
	w, err := format.Create(name, path, p, nil)
	if errors.Is(err, format.ErrPlan) {
		for i := range p.Tensors {
			p.Tensors[i].Name = strconv.Itoa(i)
		}
		w, err = format.Create(name, path, p, nil)
	}
	if err != nil {
		return err
	}
	defer w.Abort()
	for i, t := range p.Tensors {
		if err := w.WriteTensor(t.Name, bytes.NewReader(m.data(i))); err != nil {
			return err
		}
	}
	return w.Close()
}
