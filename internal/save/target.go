package save

import (
	"fmt"
	"io"
	"os"

	"github.com/weightmap/weightmap/format/driver"
)

// Target is a file being written. Gaps between writes read as zeros.
type Target = driver.Target

// Memory is a Target in a byte slice.
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

// Spool is a Target in an unnamed temporary file.
type Spool struct {
	*handle
	named bool
}

// NewSpool creates a Spool in the system's directory for temporary files. Where the system allows it,
// the file is unlinked at once, so that nothing remains if the process is killed.
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

// WriteTo implements io.WriterTo. It writes the whole file.
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

// spool is a target whose content is copied elsewhere.
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

// copied is an output that Commit copies to a writer.
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

// NewStream returns a Stream that begins at the current position of w.
func NewStream(w io.Writer) *Stream { return &Stream{w: w} }

// Sequential returns true.
func (s *Stream) Sequential() bool { return true }

// WriteAt writes p at off, which must not be before the end of earlier writes. It fills a gap with
// zeros.
func (s *Stream) WriteAt(p []byte, off int64) (int, error) {
	if off < s.pos {
		return 0, driver.ErrSequential
	}
	if err := s.Truncate(off); err != nil {
		return 0, err
	}
	return s.write(p)
}

// write returns an error unless the writer took all of p.
func (s *Stream) write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err == nil && n != len(p) {
		err = fmt.Errorf("%w: the writer says that it took %d of %d bytes", io.ErrShortWrite, n, len(p))
	}
	n = min(max(n, 0), len(p))
	s.pos += int64(n)
	return n, err
}

// Truncate extends the stream to size with zeros.
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

// Commit does nothing: the data is already written.
func (s *Stream) Commit(bool) error { return nil }

// Abort does nothing: written data cannot be taken back.
func (s *Stream) Abort() {}

// ReadAt always fails.
func (s *Stream) ReadAt([]byte, int64) (int, error) { return 0, driver.ErrSequential }
