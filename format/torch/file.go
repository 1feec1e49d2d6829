package torch

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
)

// Open maps the PyTorch file at path and reads its pickle without running any code in it. A nil
// *format.Options is the zero value. Errors are *format.Error with field and offset, or wrap errors
// of package os.
func Open(path string, o *format.Options) (*format.Model, error) { return own.Open(path, o) }

// OpenBytes opens a file in memory. b must not change while the model is open.
func OpenBytes(b []byte, o *format.Options) (*format.Model, error) { return own.OpenBytes(b, o) }

// OpenReaderAt opens a file of size bytes behind r. It reads the structure at once and tensor data
// on demand.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*format.Model, error) {
	return own.OpenReaderAt(r, size, o)
}

// OpenFile maps size bytes at offset off of an open file; size -1 means up to the end. f may be
// closed afterwards.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*format.Model, error) {
	return own.OpenFile(f, off, size, o)
}
