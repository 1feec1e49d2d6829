package source

import (
	"errors"
	"io"
	"os"
)

// File is the reopened file of a mapping, for bulk reads: pread(2) causes no page faults and does not make the
// process larger.
type File struct {
	*os.File
	r *Region
}

// ReadAt fills p from a range of the window.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, int64(f.r.skip)+off)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = ErrCut
	}
	return n, f.r.fail(off+int64(n), err)
}
