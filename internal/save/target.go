package save

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/disk"
)

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

// newSpool creates a target for data that is read back, in memory or in a file.
func newSpool(where driver.Spool) (t driver.Target, remove func(), err error) {
	if where == driver.SpoolMemory {
		return &Memory{}, func() {}, nil
	}
	f, err := disk.CreateSpool()
	if err != nil {
		return nil, nil, err
	}
	return f, f.Abort, nil
}

// copyAll copies a spool to a writer.
func copyAll(out io.Writer, spool driver.Target) error {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	_, err := io.CopyBuffer(out, io.NewSectionReader(spool, 0, math.MaxInt64), (*buf)[:piece])
	return err
}

// stream is a sequential target over an io.Writer.
type stream struct {
	w   io.Writer
	pos int64
}

// Sequential returns true.
func (s *stream) Sequential() bool { return true }

// WriteAt writes p at off, which must not be before the end of earlier writes. It fills a gap with
// zeros.
func (s *stream) WriteAt(p []byte, off int64) (int, error) {
	if err := s.Truncate(off); err != nil {
		return 0, err
	}
	return s.write(p)
}

// write returns an error unless the writer took all of p.
func (s *stream) write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err == nil && n != len(p) {
		err = fmt.Errorf("%w: the writer says that it took %d of %d bytes", io.ErrShortWrite, n, len(p))
	}
	n = min(max(n, 0), len(p))
	s.pos += int64(n)
	return n, err
}

// Truncate extends the stream to size with zeros.
func (s *stream) Truncate(size int64) error {
	var zeros [4096]byte
	if size < s.pos {
		return driver.ErrSequential
	}
	for s.pos < size {
		if _, err := s.write(zeros[:min(size-s.pos, int64(len(zeros)))]); err != nil {
			return err
		}
	}
	return nil
}

// ReadAt always fails.
func (s *stream) ReadAt([]byte, int64) (int, error) { return 0, driver.ErrSequential }
