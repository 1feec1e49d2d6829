package tsr

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
)

// File is an open TSR file with its one tensor, or an open directory of them: a model. Notes
// lists what a directory contains besides its .tsr files. The format carries no checksums: Verify finds
// headers that were changed and files that were cut short since they were opened, and the Coverage says so.
type File struct{ *format.Model }

// Open maps the TSR file at path. Of a directory it reads the header of every .tsr file,
// and maps each when its tensor is first used; until then, one that is replaced or
// changed is an error of its tensor (format.ErrCorrupt, or ErrTruncated when it was cut
// short). Prefetch maps all that are not mapped yet.
// Nil options work. Errors are *format.Error with field and offset in the
// file (see the package documentation), or wrap those of package os.
func Open(path string, o *format.Options) (*File, error) { return opened(codec.Open(path, o)) }

// OpenBytes reads a file from memory, which must not change while it is in use.
// Its tensor is named "tensor".
func OpenBytes(b []byte, o *format.Options) (*File, error) { return opened(codec.OpenBytes(b, o)) }

// OpenReaderAt reads a file of size bytes through r: the header now, the data
// each time it is asked for. Its tensor is named "tensor".
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return opened(codec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes at off of an open file; size -1 means to the end. f
// may be closed afterwards. The tensor is named after f.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return opened(codec.OpenFile(f, off, size, o))
}

// From returns the File of a model that package format opened, and whether it
// is one of this format.
func From(m *format.Model) (*File, bool) {
	if m.Format() != name {
		return nil, false
	}
	return &File{m}, true
}

func opened(m *format.Model, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return &File{m}, nil
}
