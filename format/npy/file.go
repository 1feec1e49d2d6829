package npy

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open .npy file with its one tensor, or an open .npz archive. Its methods
// are safe for concurrent use. The zero File is closed.
type File struct{ m *format.Model }

// Open maps the .npy file or .npz archive at path. Nil options work. Errors are
// *format.Error with field and offset in the file (see the package documentation),
// or wrap those of package os.
func Open(path string, o *format.Options) (*File, error) {
	return open(func(c format.Codec) (*format.Model, error) { return c.Open(path, o) })
}

// OpenBytes reads a file from memory, which must not change while it is in use.
// The tensor of a .npy file is named "array".
func OpenBytes(b []byte, o *format.Options) (*File, error) {
	return open(func(c format.Codec) (*format.Model, error) { return c.OpenBytes(b, o) })
}

// OpenReaderAt reads a file of size bytes through r: the headers now, the data
// each time it is asked for. The tensor of a .npy file is named "array".
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return open(func(c format.Codec) (*format.Model, error) { return c.OpenReaderAt(r, size, o) })
}

// OpenFile maps size bytes at off of an open file; size -1 means to the end. f
// may be closed afterwards. The tensor of a .npy file is named after f.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return open(func(c format.Codec) (*format.Model, error) { return c.OpenFile(f, off, size, o) })
}

// open opens a file of either kind.
func open(with func(format.Codec) (*format.Model, error)) (*File, error) {
	m, err := with(fileCodec)
	if errors.Is(err, format.ErrMagic) {
		var second error
		if m, second = with(archiveCodec); second == nil || !errors.Is(second, format.ErrMagic) || errors.Is(second, format.ErrUnknownFormat) {
			err = second
		}
	}
	if err != nil {
		return nil, err
	}
	return &File{m}, nil
}

// From returns the File of a model that package format opened, and whether it
// is one of these formats.
func From(m *format.Model) (*File, bool) {
	switch m.DriverFile().(type) {
	case *loneFile, *archiveFile:
		return &File{m}, true
	}
	return nil, false
}

// Model returns the file as a model, which is closed with it.
func (f *File) Model() *format.Model { return f.m }

// Format returns "npy" or "npz".
func (f *File) Format() string { return f.m.Format() }

// Version returns "1.0", "2.0" or "3.0", in an archive the highest version of its
// arrays.
func (f *File) Version() string { return f.m.Version() }

// Path returns the name the file was opened by, "" for bytes and readers.
func (f *File) Path() string { return f.m.Path() }

// Metadata returns nil: the formats have none.
func (f *File) Metadata() format.Metadata { return f.m.Metadata() }

// Len returns the number of tensors: 1 in a .npy file.
func (f *File) Len() int { return f.m.Len() }

// Tensor returns the tensor of that name, ErrNotFound when there is none.
func (f *File) Tensor(name string) (tensor.View, error) { return f.m.Tensor(name) }

// Tensors walks the tensors in the order of the archive's directory.
func (f *File) Tensors() iter.Seq2[string, tensor.View] { return f.m.Tensors() }

// At returns tensor i in that order, 0 <= i < Len.
func (f *File) At(i int) tensor.View { return f.m.At(i) }

// Notes lists what an archive contains beside its .npy entries, and other things
// that were tolerated.
func (f *File) Notes() []string { return f.m.Notes() }

// Verify checks the headers again and all data: in an archive by the CRC-32 of every
// array, in a .npy file, which carries no sum, that it is there. Errors are those of
// format.Model.Verify.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) (*format.Coverage, error) {
	return f.m.Verify(ctx, opts...)
}

// Do runs fn with faults in the memory of any tensor as errors; see format.Model.Do.
func (f *File) Do(fn func() error) error { return f.m.Do(fn) }

// Pin holds the memory of all tensors across Close: Close returns, but slices
// stay valid until the last unpin. unpin may be called more than once.
func (f *File) Pin() (unpin func(), err error) { return f.m.Pin() }

// Prefetch asks the system to read all data ahead.
func (f *File) Prefetch() error { return f.m.Prefetch() }

// Stats says what the model takes and how it hands out its tensors.
func (f *File) Stats() format.Stats { return f.m.Stats() }

// Close forbids further access, waits for running View.Use calls, and unmaps
// the file. A second Close does nothing.
func (f *File) Close() error { return f.m.Close() }
