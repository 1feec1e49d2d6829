package main

import (
	"context"
	"io"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
)

// comparedModel is one of two models to compare.
type comparedModel struct {
	name   string // "A" or "B"
	path   string
	head   string
	digest string // of all tensors; "" if it is not asked for
	m      *namedModel
	data   *tensorReader
}

func (s *comparedModel) open(ctx context.Context, c *cli.Tool, given *access, o *format.Options, errs io.Writer) error {
	m, err := given.open(s.path, o)
	if err != nil {
		return err
	}
	m.complain(c, errs)
	s.path = m.path
	s.m = named(m.Model)
	s.data = newTensorReader(ctx, m.Model)
	return nil
}

// close closes the side if it is open.
func (s *comparedModel) close() {
	if s.m != nil {
		s.data.close()
		s.m.Close()
	}
}
