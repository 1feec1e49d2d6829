package source

import (
	"errors"
	"os"

	"github.com/weightmap/weightmap/tensor"
)

// lacks reports whether err means that a file can neither be mapped nor read into memory, for
// lack of address space, mappings or memory. The file is then read on demand.
func lacks(err error) bool { return noRoom(err) || errors.Is(err, tensor.ErrLimit) }

// readOn makes the window a range of f that is read on demand. The region takes ownership
// of f.
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
