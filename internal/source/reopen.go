package source

import (
	"errors"
	"io"
	"os"
)

// File is the reopened file of a mapping, for bulk reads: pread(2) causes no page faults and does not make the
// process larger.
type File struct {
	r *Region
	f *os.File
}

// Reopen opens the file of a mapping by its name. It fails if the name now refers to another file. The
// mapping prevents the inode number from being reused.
func (r *Region) Reopen() (*File, error) {
	if r.ra == nil || !r.id.known {
		return nil, errors.ErrUnsupported
	}
	f, err := os.OpenFile(r.name, os.O_RDONLY|NoWait, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if now := idOfFile(info); now.dev != r.id.dev || now.ino != r.id.ino {
			err = ErrReplaced
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &File{r, f}, nil
}

// ReadAt fills p from a range of the window.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.f.ReadAt(p, int64(f.r.skip)+off)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = ErrCut
	}
	return n, f.r.fail(off+int64(n), err)
}

// Close closes the file. The mapping stays.
func (f *File) Close() error { return f.f.Close() }
