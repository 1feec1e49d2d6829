package mobi

import "github.com/weightmap/weightmap/internal/mapped"

// window is how much a source reads at a time from an io.ReaderAt, so that
// many small records cost few reads.
const window = 64 << 10

// source hands out parts of the file while it is being parsed: slices of the
// mapping, or of a window that moves along a reader.
type source struct {
	region *mapped.Region
	buf    []byte // what lies at at, for readers
	at     int64
}

// bytes returns n bytes from off. From a reader they are valid until the next
// call.
func (s *source) bytes(off, n int64) ([]byte, error) {
	if s.region.InMemory() {
		return s.region.Slice(off, n)
	}
	if off < s.at || n > int64(len(s.buf)) || off-s.at > int64(len(s.buf))-n {
		b, err := s.region.Slice(off, max(n, min(window, s.region.Size()-off)))
		if err != nil {
			return nil, err
		}
		s.buf, s.at = b, off
	}
	b := s.buf[off-s.at:]
	return b[:n:n], nil
}
