// Package target has what writers of models share: the data of a tensor that is written, targets in
// memory and over an io.Writer, and the encoder of a layout.
package target

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
)

var _ driver.Target = (*Memory)(nil)

// Memory is a driver.Target in a byte slice.
type Memory struct{ b []byte }

// Bytes returns the contents.
func (m *Memory) Bytes() []byte { return m.b }

// Sequential returns false.
func (m *Memory) Sequential() bool { return false }

// WriteAt writes p at off and grows the contents as needed.
func (m *Memory) WriteAt(p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	if off < 0 || end < off || end != int64(int(end)) {
		return 0, fmt.Errorf("write at %d: %w", off, os.ErrInvalid)
	}
	if len(p) == 0 {
		return 0, nil // like a file, do not grow
	}
	if end > int64(len(m.b)) {
		_ = m.Truncate(end)
	}
	return copy(m.b[off:], p), nil
}

// ReadAt implements io.ReaderAt.
func (m *Memory) ReadAt(p []byte, off int64) (int, error) { return bytes.NewReader(m.b).ReadAt(p, off) }

// Truncate implements driver.Target.
func (m *Memory) Truncate(size int64) error {
	if old := int64(len(m.b)); size > old {
		m.b = slices.Grow(m.b, int(size-old))
		clear(m.b[old:size])
	}
	m.b = m.b[:size]
	return nil
}
