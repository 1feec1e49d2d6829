package format

import (
	"context"
	"io"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

var (
	_ memory.Streamer[tensor.Info] = (*owner)(nil)
	_ memory.Streamer[tensor.Info] = unlisted{}
)

// Streams implements memory.Streamer.
func (o *owner) Streams(info *tensor.Info) bool {
	i, _ := o.m.index.Lookup(info.Name)
	return o.m.parsed.Stream != nil && o.m.index.Loaded(i)
}

// Stream implements memory.Streamer.
func (o *owner) Stream(ctx context.Context, info *tensor.Info, w io.Writer) error {
	i, _ := o.m.index.Lookup(info.Name)
	return o.stream(info, func() error { return o.m.parsed.Stream(i, &canceledWriter{ctx, w}) })
}

// Section implements memory.Streamer.
func (o *owner) Section(info *tensor.Info) (offset int64, ok bool) {
	i, _ := o.m.index.Lookup(info.Name)
	if o.m.parsed.Section == nil || !o.m.index.Loaded(i) || !o.m.parsed.Shares(i) {
		return 0, false
	}
	return o.m.parsed.Section.SectionAt(i), true
}

// StreamSection implements memory.Streamer.
func (o *owner) StreamSection(ctx context.Context, info *tensor.Info, w io.Writer) error {
	return o.stream(info, func() error { return o.m.parsed.Section.StreamSection(&canceledWriter{ctx, w}) })
}

// stream runs f, which writes the bytes of a tensor or of the section that it is a part of.
func (o *owner) stream(info *tensor.Info, f func() error) error {
	if err := o.Enter(info); err != nil {
		return o.m.explain(err)
	}
	defer o.Leave()
	return o.m.explainTensor(o.m.guard(f), info.Name)
}

// Streams implements memory.Streamer. A tensor in the index may have the same name.
func (unlisted) Streams(*tensor.Info) bool { return false }

// Section implements memory.Streamer.
func (unlisted) Section(*tensor.Info) (offset int64, ok bool) { return 0, false }

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
