package source

import (
	"errors"
	"os"

	"github.com/weightmap/weightmap/tensor"
)

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
