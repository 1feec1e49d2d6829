package format

import (
	"context"
	"io"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

var _ memory.Streamer[tensor.Info] = (*owner)(nil)

// Streams implements memory.Streamer.
func (o *owner) Streams(info *tensor.Info) bool {
	i, ok := o.m.index.Lookup(info.Name)
	return ok && o.m.parsed.Stream != nil && o.m.index.Loaded(i)
}

// Stream implements memory.Streamer.
func (o *owner) Stream(ctx context.Context, info *tensor.Info, w io.Writer) error {
	i, ok := o.m.index.Lookup(info.Name)
	if !ok || !o.Streams(info) {
		return o.m.about(info.Name, -1, tensor.ErrUnsupported)
	}
	if err := o.Enter(info); err != nil {
		return o.m.explain(err)
	}
	defer o.Leave()
	err := o.m.guard(func() error { return o.m.parsed.Stream(i, &canceledWriter{ctx, w}) })
	return o.m.explainTensor(err, info.Name)
}

// Section implements memory.Streamer.
func (o *owner) Section(info *tensor.Info) (offset int64, ok bool) {
	i, ok := o.m.index.Lookup(info.Name)
	if !ok || o.m.parsed.Section == nil || !o.m.index.Loaded(i) || !o.m.parsed.Shares(i) {
		return 0, false
	}
	return o.m.parsed.Section.SectionAt(i), true
}

// StreamSection implements memory.Streamer.
func (o *owner) StreamSection(ctx context.Context, info *tensor.Info, w io.Writer) error {
	_, ok := o.Section(info)
	if !ok {
		return o.m.about(info.Name, -1, tensor.ErrUnsupported)
	}
	if err := o.Enter(info); err != nil {
		return o.m.explain(err)
	}
	defer o.Leave()
	err := o.m.guard(func() error { return o.m.parsed.Section.StreamSection(&canceledWriter{ctx, w}) })
	return o.m.explainTensor(err, info.Name)
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
