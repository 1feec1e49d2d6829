package tsr

import (
	"context"
	"io"
	"iter"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open TSR file with its one tensor, or an open directory of them.
// Its methods are safe for concurrent use. The zero File is closed.
type File struct{ m *format.Model }

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
	if _, ok := codec.Own(m).(*parsed); !ok {
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

// Model returns the file as a model, which is closed with it.
func (f *File) Model() *format.Model { return f.m }

// Format returns "tsr".
func (f *File) Format() string { return f.m.Format() }

// Version returns "1".
func (f *File) Version() string { return f.m.Version() }

// Path returns the name the file was opened by, "" for bytes and readers.
func (f *File) Path() string { return f.m.Path() }

// Metadata returns nil: the format has none.
func (f *File) Metadata() format.Metadata { return f.m.Metadata() }

// Len returns the number of tensors: 1, or that of the files of a directory.
func (f *File) Len() int { return f.m.Len() }

// Tensor returns the tensor of that name, ErrNotFound when there is none.
func (f *File) Tensor(name string) (tensor.View, error) { return f.m.Tensor(name) }

// Tensors walks the tensors in order of their names.
func (f *File) Tensors() iter.Seq2[string, tensor.View] { return f.m.Tensors() }

// At returns tensor i in that order, 0 <= i < Len.
func (f *File) At(i int) tensor.View { return f.m.At(i) }

// Notes lists what a directory contains besides its .tsr files.
func (f *File) Notes() []string { return f.m.Notes() }

// Verify checks the headers again and that all data is there, several files of
// a directory at a time. The format carries no checksums: only headers that were
// changed and files that were cut short since they were opened are found, and the
// Coverage says so. Errors are those of format.Model.Verify.
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
// the file, or all files of the directory. A second Close does nothing.
func (f *File) Close() error { return f.m.Close() }
