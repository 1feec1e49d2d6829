package mobi

import "github.com/weightmap/weightmap/internal/mapped"

// A source reads an io.ReaderAt in windows: small ones where data is jumped
// over, larger and larger ones where one record follows the other, so that many
// small records cost few reads.
const (
	minWindow = 1 << 10
	maxWindow = 64 << 10
)

// source hands out parts of the file while it is being parsed: slices of the
// mapping, or of a window that moves along a reader.
type source struct {
	region *mapped.Region
	buf    []byte // what lies at at, for readers
	at     int64
	next   int64 // the size of the next window
}

// bytes returns n bytes from off. From a reader they are valid until the next
// call.
func (s *source) bytes(off, n int64) ([]byte, error) {
	if s.region.InMemory() {
		return s.region.Slice(off, n)
	}
	if off < s.at || n > int64(len(s.buf)) || off-s.at > int64(len(s.buf))-n {
		if end := s.at + int64(len(s.buf)); off >= s.at && off <= end {
			s.next = min(2*s.next, maxWindow)
		} else {
			s.next = minWindow
		}
		s.next = max(s.next, minWindow)
		b, err := s.region.Slice(off, max(n, min(s.next, s.region.Size()-off)))
		if err != nil {
			return nil, err
		}
		s.buf, s.at = b, off
	}
	b := s.buf[off-s.at:]
	return b[:n:n], nil
}
