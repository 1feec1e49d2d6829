package main

import (
	"fmt"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// useLimit is how many bytes of tensors are used of an open model before it is opened
// anew. It holds what it unpacked until it is closed, and the system may keep in memory
// what was mapped.
const useLimit = 64 << 20

// side is one of two models that are compared.
type side struct {
	path string
	o    *format.Options
	head string
	m    *renamed
	used int64 // bytes of tensors since it was opened
}

func (s *side) open() (err error) {
	m, err := openModel(s.path, s.o)
	if err == nil {
		s.m = named(m)
	}
	return err
}

// reopen lets go of the memory of tensors. What opening can check was checked before.
func (s *side) reopen() (err error) {
	s.close()
	s.used = 0
	o := *s.o
	o.Check = format.CheckStructure
	m, err := format.Open(s.path, &o)
	if err == nil {
		s.m = named(m)
	}
	return err
}

// close does nothing to a side that is not open.
func (s *side) close() {
	if s.m != nil {
		s.m.Close()
	}
}

// names lists the tensors, in names that outlive the model.
func (s *side) names() []string {
	var names []string
	for name := range s.m.Tensors() {
		names = append(names, name)
	}
	return names
}

// tensor returns a tensor. Views that it returned before may be closed then.
func (s *side) tensor(name string) (tensor.View, error) {
	if s.used > useLimit && s.path != standardInput {
		if err := s.reopen(); err != nil {
			return tensor.View{}, err
		}
	}
	v, err := s.m.Tensor(name)
	// What was packed together with others (Stored is -1) is unpacked by opening.
	if info := v.Info(); err == nil && info.Stored >= 0 {
		s.used += info.Size
	}
	return v, err
}

// headline says in a line what a file is.
func headline(path string, m *format.Model) string {
	return fmt.Sprintf("%s: %s %s, %s, %s", path, m.Format(), m.Version(), cli.Count(m.Len(), "tensor"), cli.Size(sizeOf(path, m)))
}
