package torch

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
)

// Open maps the PyTorch file at path and reads its pickle, running none of it. Nil options
// work. Errors are *format.Error with field and offset, or wrap those of package os.
func Open(path string, o *format.Options) (*format.Model, error) { return own.Open(path, o) }

// OpenBytes reads a file from memory, which must not change while the model is open.
func OpenBytes(b []byte, o *format.Options) (*format.Model, error) { return own.OpenBytes(b, o) }

// OpenReaderAt reads a file of size bytes through r: the structure now, data on demand.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*format.Model, error) {
	return own.OpenReaderAt(r, size, o)
}

// OpenFile maps size bytes at off of an open file; size -1 means to the end. f may be
// closed afterwards.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*format.Model, error) {
	return own.OpenFile(f, off, size, o)
}
