package save

import (
	"fmt"
	"io"
	"os"

	"github.com/weightmap/weightmap/format/driver"
)

// Target is a file being written. Gaps that nothing wrote read as zeros.
type Target = driver.Target

// Memory is a Target in a byte slice.
type Memory struct{ b []byte }

// Bytes returns the contents.
func (m *Memory) Bytes() []byte { return m.b }

// Sequential is false.
func (m *Memory) Sequential() bool { return false }

// WriteAt writes p at off and grows the contents as needed.
func (m *Memory) WriteAt(p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	if off < 0 || end < off || end != int64(int(end)) {
		return 0, fmt.Errorf("write at %d: %w", off, os.ErrInvalid)
	}
	if len(p) == 0 {
		return 0, nil // as for files, writing nothing adds nothing
	}
	if end > int64(len(m.b)) {
		if err := m.Truncate(end); err != nil {
			return 0, err
		}
	}
	return copy(m.b[off:], p), nil
}

// ReadAt implements io.ReaderAt.
func (m *Memory) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(m.b)) {
		return 0, io.EOF
	}
	n := copy(p, m.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Truncate implements Target.
func (m *Memory) Truncate(size int64) error {
	if size <= int64(len(m.b)) {
		m.b = m.b[:size]
		return nil
	}
	old := len(m.b)
	if size <= int64(cap(m.b)) {
		m.b = m.b[:size]
		clear(m.b[old:])
		return nil
	}
	m.b = append(m.b, make([]byte, size-int64(old))...)
	return nil
}

// WriteTo implements io.WriterTo.
func (m *Memory) WriteTo(w io.Writer) (int64, error) {
	n, err := NewStream(w).WriteAt(m.b, 0)
	return int64(n), err
}

// Remove frees the contents.
func (m *Memory) Remove() { m.b = nil }

// Spool is a Target in a temporary file without a name to come.
type Spool struct {
	*handle
	named bool
}

// NewSpool creates one in the system's directory for temporary files. It has no name from then on where
// the system allows it, so that nothing is left of it when the process is killed.
func NewSpool() (*Spool, error) {
	if err := before(CallCreate, "spool"); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "weightmap-*.spool")
	if err != nil {
		return nil, err
	}
	return &Spool{&handle{f: f}, Remove(f.Name()) != nil}, nil
}

// WriteTo implements io.WriterTo, for all of it.
func (s *Spool) WriteTo(w io.Writer) (int64, error) {
	if err := s.flush(); err != nil {
		return 0, err
	}
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(w, s.f)
}

// Remove deletes the file.
func (s *Spool) Remove() {
	_ = s.close()
	if s.named {
		_ = Remove(s.Name())
	}
}

// spool is a target whose content goes elsewhere.
type spool interface {
	Target
	io.WriterTo
	Remove()
}

func newSpool(where driver.Spool) (spool, error) {
	if where == driver.SpoolMemory {
		return &Memory{}, nil
	}
	return NewSpool()
}

// copied is an output that is copied to a writer in the end.
type copied struct {
	spool
	out io.Writer
}

// Commit implements output.
func (c *copied) Commit(bool) error {
	defer c.Remove()
	_, err := c.WriteTo(c.out)
	return err
}

// Abort implements output.
func (c *copied) Abort() { c.Remove() }

// Stream is a sequential Target over an io.Writer.
type Stream struct {
	w   io.Writer
	pos int64
}

// NewStream writes to w, from its current position on.
func NewStream(w io.Writer) *Stream { return &Stream{w: w} }

// Sequential is true.
func (s *Stream) Sequential() bool { return true }

// WriteAt writes p when off is not before what was written already; a gap is
// filled with zeros.
func (s *Stream) WriteAt(p []byte, off int64) (int, error) {
	if off < s.pos {
		return 0, driver.ErrSequential
	}
	if err := s.Truncate(off); err != nil {
		return 0, err
	}
	return s.write(p)
}

// write does not trust the writer's answer: it took all of p, or there is an error.
func (s *Stream) write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err == nil && n != len(p) {
		err = fmt.Errorf("%w: the writer says that it took %d of %d bytes", io.ErrShortWrite, n, len(p))
	}
	n = min(max(n, 0), len(p))
	s.pos += int64(n)
	return n, err
}

// Truncate fills up with zeros.
func (s *Stream) Truncate(size int64) error {
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

// Commit and Abort have nothing to do: what was written is gone.
func (s *Stream) Commit(bool) error { return nil }

// Abort implements output.
func (s *Stream) Abort() {}

// ReadAt always fails.
func (s *Stream) ReadAt([]byte, int64) (int, error) { return 0, driver.ErrSequential }
