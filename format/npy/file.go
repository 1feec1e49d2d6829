package npy

import (
	"errors"
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
)

// Open maps the .npy file or .npz archive at path. Nil options work. Errors are
// *format.Error with field and offset in the file (see the package documentation),
// or wrap those of package os.
//
// The model's format is "npy" or "npz". Its version is that of the array or, in an archive,
// the highest of its arrays. Verify verifies the CRC-32 of every entry of an archive; .npy
// files have no checksums, and Verify checks that all data is there.
func Open(path string, o *format.Options) (*format.Model, error) {
	return open(func(c format.Codec) (*format.Model, error) { return c.Open(path, o) })
}

// OpenBytes opens a file in memory, which must not change while the model is open.
// The tensor of a .npy file is named "array".
func OpenBytes(b []byte, o *format.Options) (*format.Model, error) {
	return open(func(c format.Codec) (*format.Model, error) { return c.OpenBytes(b, o) })
}

// OpenReaderAt opens a file of size bytes that it reads through r: the headers now, the data
// on demand. The tensor of a .npy file is named "array", unless r knows its file, as a reader of format/remote does.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*format.Model, error) {
	return open(func(c format.Codec) (*format.Model, error) { return c.OpenReaderAt(r, size, o) })
}

// OpenFile maps size bytes at off of an open file; a size of -1 means to the end. f
// may be closed afterwards. The tensor of a .npy file is named after f.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*format.Model, error) {
	return open(func(c format.Codec) (*format.Model, error) { return c.OpenFile(f, off, size, o) })
}

// open opens a file of either kind.
func open(with func(format.Codec) (*format.Model, error)) (*format.Model, error) {
	m, err := with(fileCodec)
	if errors.Is(err, format.ErrMagic) {
		var second error
		if m, second = with(archiveCodec); second == nil || !errors.Is(second, format.ErrMagic) || errors.Is(second, format.ErrUnknownFormat) {
			err = second
		}
	}
	return m, err
}
