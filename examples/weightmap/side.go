package main

import (
	"context"
	"fmt"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/format"
)

// side is one of two models to compare.
type side struct {
	path string
	head string
	m    *renamed
	data *data
}

func (s *side) open(ctx context.Context, o *format.Options) error {
	m, err := openModel(s.path, o)
	if err == nil {
		s.m, s.data = named(m), newData(ctx, m)
	}
	return err
}

// close closes the side if it is open.
func (s *side) close() {
	if s.m != nil {
		s.m.Close()
	}
}

// headline describes a file in one line.
func headline(path string, m *format.Model) string {
	return fmt.Sprintf("%s: %s %s, %s, %s", shownName(path), m.Format(), m.Version(), cli.Count(m.Len(), "tensor"), cli.Size(sizeOf(path, m)))
}
