package load

import (
	"context"
	"io"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

var _ memory.Streamer[tensor.Info] = (*Model)(nil)

// Streams implements memory.Streamer.
func (m *Model) Streams(info *tensor.Info) bool {
	i, ok := m.index.Lookup(info.Name)
	return ok && m.parsed.Stream != nil && m.index.Loaded(i)
}

// Stream implements memory.Streamer.
func (m *Model) Stream(ctx context.Context, info *tensor.Info, w io.Writer) error {
	i, ok := m.index.Lookup(info.Name)
	if !ok || !m.Streams(info) {
		return m.about(info.Name, -1, tensor.ErrUnsupported)
	}
	if err := m.Enter(info); err != nil {
		return m.explain(err)
	}
	defer m.Leave()
	err := m.guard(func() error { return m.parsed.Stream(i, &canceledWriter{ctx, w}) })
	return m.named(m.explain(err), info.Name)
}

// Section implements memory.Streamer.
func (m *Model) Section(info *tensor.Info) (offset int64, ok bool) {
	i, ok := m.index.Lookup(info.Name)
	if !ok || m.parsed.Section == nil || !m.index.Loaded(i) || !m.parsed.Shares(i) {
		return 0, false
	}
	return m.parsed.Section.SectionAt(i), true
}

// StreamSection implements memory.Streamer.
func (m *Model) StreamSection(ctx context.Context, info *tensor.Info, w io.Writer) error {
	_, ok := m.Section(info)
	if !ok {
		return m.about(info.Name, -1, tensor.ErrUnsupported)
	}
	if err := m.Enter(info); err != nil {
		return m.explain(err)
	}
	defer m.Leave()
	err := m.guard(func() error { return m.parsed.Section.StreamSection(&canceledWriter{ctx, w}) })
	return m.named(m.explain(err), info.Name)
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
