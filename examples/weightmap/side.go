package main

import (
	"fmt"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// keptLimit is how many bytes of unpacked tensors an open model may hold before it is
// opened anew.
const keptLimit = 64 << 20

// side is one of two models that are compared.
type side struct {
	path string
	key  []byte
	head string
	m    *format.Model
	kept int64 // bytes of tensors that the model unpacked, and keeps until it is closed
}

func (s *side) open() (err error) {
	s.kept = 0
	s.m, err = openModel(s.path, s.key)
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

// tensor returns a tensor. Views that it returned before may be closed then: a model
// keeps what it unpacks, and this is the way to let go of it.
func (s *side) tensor(name string) (tensor.View, error) {
	if s.kept > keptLimit {
		s.close()
		if err := s.open(); err != nil {
			return tensor.View{}, err
		}
	}
	v, err := s.m.Tensor(name)
	// What was packed together with others (Stored is -1) is unpacked by opening.
	if info := v.Info(); err == nil && !v.ZeroCopy() && info.Stored >= 0 {
		s.kept += info.Size
	}
	return v, err
}

// headline says in a line what a file is.
func headline(path string, m *format.Model) string {
	return fmt.Sprintf("%s: %s %s, %s, %s", path, m.Format(), m.Version(), cli.Count(m.Len(), "tensor"), cli.Size(cli.FileSize(path)))
}
