package formattest

import (
	"context"
	"io"
	"iter"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// model is what the kit uses of a *format.Model, so that its own tests can put
// one in its place that does something wrong.
type model interface {
	Format() string
	Version() string
	Metadata() format.Metadata
	Len() int
	Tensor(name string) (tensor.View, error)
	Tensors() iter.Seq2[string, tensor.View]
	At(i int) tensor.View
	Graph() (*format.Graph, error)
	Notes() []string
	Signature() *format.Signature
	NeedsKey() bool
	Verify(ctx context.Context, opts ...format.VerifyOption) (*format.Coverage, error)
	Do(f func() error) error
	Pin() (unpin func(), err error)
	Prefetch() error
	Evict() error
	Stats() format.Stats
	Close() error
}

// defects are planted in what the engine does, where a driver could not.
type defects struct {
	model   func(*format.Model) model
	options func(*format.Options) *format.Options
}

// codec is a format at work.
type codec struct {
	format.Codec
	defects *defects
}

func (c codec) options(o *format.Options) *format.Options {
	if c.defects != nil && c.defects.options != nil {
		return c.defects.options(o)
	}
	return o
}

func (c codec) model(m *format.Model, err error) (model, error) {
	if err != nil {
		return nil, err
	}
	if c.defects != nil && c.defects.model != nil {
		return c.defects.model(m), nil
	}
	return m, nil
}

func (c codec) Open(path string, o *format.Options) (model, error) {
	return c.model(c.Codec.Open(path, c.options(o)))
}

func (c codec) OpenBytes(b []byte, o *format.Options) (model, error) {
	return c.model(c.Codec.OpenBytes(b, c.options(o)))
}

func (c codec) OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (model, error) {
	return c.model(c.Codec.OpenReaderAt(r, size, c.options(o)))
}

func (c codec) OpenFile(f *os.File, off, size int64, o *format.Options) (model, error) {
	return c.model(c.Codec.OpenFile(f, off, size, c.options(o)))
}

// planOf is format.PlanOf.
func planOf(m model) (*format.Plan, error) {
	p := &format.Plan{Metadata: m.Metadata()}
	for _, v := range m.Tensors() {
		p.Tensors = append(p.Tensors, v.Info())
	}
	var err error
	p.Graph, err = m.Graph()
	return p, err
}
