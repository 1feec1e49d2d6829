package target

import (
	"fmt"
	"io"
	"math"

	"github.com/weightmap/weightmap/format/driver"
)

var _ driver.Target = (*Stream)(nil)

// Stream is a sequential target over an io.Writer.
type Stream struct {
	w   io.Writer
	pos int64
}

// NewStream returns the target that writes to w from front to back.
func NewStream(w io.Writer) *Stream { return &Stream{w: w} }

// Sequential returns true.
func (s *Stream) Sequential() bool { return true }

// WriteAt writes p at off, which must not be before the end of earlier writes. It fills a gap with
// zeros.
func (s *Stream) WriteAt(p []byte, off int64) (int, error) {
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

// ReadAt always fails.
func (s *Stream) ReadAt([]byte, int64) (int, error) { return 0, driver.ErrSequential }

// CopyAll copies the contents of a target, from its beginning to its end, to a writer.
func CopyAll(out io.Writer, t driver.Target) error {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	_, err := io.CopyBuffer(out, io.NewSectionReader(t, 0, math.MaxInt64), (*buf)[:piece])
	return err
}
