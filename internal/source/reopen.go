package source

import (
	"errors"
	"io"
	"os"
)

// File is the file of a mapping, open once more to read much of it: pread(2) neither takes a page fault for each
// page nor makes the process larger.
type File struct {
	r *Region
	f *os.File
}

// Reopen opens the file of a mapping by its name. It fails if that leads to another file by now. The
// mapping keeps its inode from being given to another one.
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
