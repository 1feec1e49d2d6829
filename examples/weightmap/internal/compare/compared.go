package compare

import (
	"context"
	"io"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
)

// comparedModel is one of two models to compare.
type comparedModel struct {
	name   string // "A" or "B"
	path   string
	head   string
	digest string // of all tensors; "" if it is not asked for
	m      *modelfile.NamedModel
	data   *modelfile.TensorReader
}

func (s *comparedModel) open(ctx context.Context, c *cli.Tool, given *modelfile.Access,
	o *format.Options, errs io.Writer) error {
	m, err := given.Open(s.path, o)
	if err != nil {
		return err
	}
	m.Complain(c, errs)
	s.path = m.Path
	s.m = modelfile.Named(m.Model)
	s.data = modelfile.NewTensorReader(ctx, m.Model)
	return nil
}

// close closes the side if it is open.
func (s *comparedModel) close() {
	if s.m != nil {
		s.data.Close()
		s.m.Close()
	}
}
