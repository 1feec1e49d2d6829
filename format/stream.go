package format

import (
	"context"
	"io"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

var _ memory.Streamer[tensor.Info] = (*file)(nil)

// Streams implements memory.Streamer.
func (f *file) Streams(info *tensor.Info) bool {
	i, ok := f.index.Lookup(info.Name)
	return ok && f.parsed.Stream != nil && f.index.Loaded(i)
}

// Stream implements memory.Streamer.
func (f *file) Stream(ctx context.Context, info *tensor.Info, w io.Writer) error {
	i, ok := f.index.Lookup(info.Name)
	if !ok || !f.Streams(info) {
		return f.about(info.Name, -1, tensor.ErrUnsupported)
	}
	if err := f.Enter(info); err != nil {
		return f.explain(err)
	}
	defer f.Leave()
	err := f.guard(func() error { return f.parsed.Stream(i, &canceledWriter{ctx, w}) })
	return f.explainTensor(err, info.Name)
}

// Section implements memory.Streamer.
func (f *file) Section(info *tensor.Info) (offset int64, ok bool) {
	i, ok := f.index.Lookup(info.Name)
	if !ok || f.parsed.Section == nil || !f.index.Loaded(i) || !f.parsed.Shares(i) {
		return 0, false
	}
	return f.parsed.Section.SectionAt(i), true
}

// StreamSection implements memory.Streamer.
func (f *file) StreamSection(ctx context.Context, info *tensor.Info, w io.Writer) error {
	_, ok := f.Section(info)
	if !ok {
		return f.about(info.Name, -1, tensor.ErrUnsupported)
	}
	if err := f.Enter(info); err != nil {
		return f.explain(err)
	}
	defer f.Leave()
	err := f.guard(func() error { return f.parsed.Section.StreamSection(&canceledWriter{ctx, w}) })
	return f.explainTensor(err, info.Name)
}

// canceledWriter is a writer that fails when its context is canceled.
type canceledWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c *canceledWriter) Write(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(b)
}
