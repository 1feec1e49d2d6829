package source

import (
	"errors"
	"math"
	"os"
	"sync/atomic"

	"github.com/weightmap/weightmap/tensor"
)

// Space is how many bytes of address space the files of a model may take. A nil Space has
// no end.
type Space struct {
	most int64
	used atomic.Int64
}

// Limit sets how many bytes there are, before any is taken.
func (s *Space) Limit(most int64) { s.most = most }

// take takes n bytes, or reports that there are not so many left.
func (s *Space) take(n int64) bool {
	if s == nil {
		return true
	}
	if s.used.Add(n) <= s.most {
		return true
	}
	s.used.Add(-n)
	return false
}

// give gives back what was taken for a file that was not mapped.
func (s *Space) give(n int64) {
	if s != nil {
		s.used.Add(-n)
	}
}

// maps reports whether a file of so many bytes is to be mapped, and takes the space for it.
func (o *Options) maps(size int64) bool {
	return !o.OnDemand && size <= math.MaxInt && o.Space.take(size)
}

// lacks reports whether err says that a file could neither be mapped nor be read into memory,
// for want of address space, mappings or memory that may be taken. It is then read on demand.
func lacks(err error) bool { return noRoom(err) || errors.Is(err, tensor.ErrLimit) }

// readOn makes the window a range of f that is read when it is asked for. f is the region's
// from here on.
func (r *Region) readOn(f *os.File, off, size int64, o *Options) {
	r.file, r.size = f, size
	r.src = &part{f, off}
	if o.Parse {
		r.head.borrow(f, off)
	}
}

// part is a file from an offset on.
type part struct {
	f    *os.File
	base int64
}

// ReadAt implements io.ReaderAt for offsets that are not negative, within the file.
func (p *part) ReadAt(b []byte, off int64) (int, error) { return p.f.ReadAt(b, p.base+off) }
