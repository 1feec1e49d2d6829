package safetensors

import (
	"context"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open .safetensors file, or a model of several that an index joins. Its
// methods are safe for concurrent use. The zero File is closed.
type File struct {
	m *format.Model
	f *parsed
}

// Open maps the file at path and reads its header. The index of a sharded model
// (model.safetensors.index.json) opens it with all its shards. Nil options work.
func Open(path string, o *format.Options) (*File, error) { return file(codec.Open(path, o)) }

// OpenBytes reads a file from memory, which must not change while it is open. The shards
// of an index are looked for in Options.Dir.
func OpenBytes(b []byte, o *format.Options) (*File, error) { return file(codec.OpenBytes(b, o)) }

// OpenReaderAt reads a file of size bytes through r, fetching tensors when they are
// asked for. The first 256 bytes are read, then the header.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return file(codec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes at off of an open file; size -1 means to the end.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return file(codec.OpenFile(f, off, size, o))
}

// From returns the File of a model that package format opened, and whether it is one of
// this format.
func From(m *format.Model) (*File, bool) {
	f, ok := m.DriverFile().(*parsed)
	if !ok {
		return nil, false
	}
	return &File{m, f}, true
}

func file(m *format.Model, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	f, _ := From(m)
	return f, nil
}

// Model returns the file as a model, which is closed with it.
func (f *File) Model() *format.Model { return f.m }

// Format returns "safetensors".
func (f *File) Format() string { return f.m.Format() }

// Version returns "1": the format has no version numbers.
func (f *File) Version() string { return f.m.Version() }

// Path returns the name the file was opened by, "" for bytes and readers.
func (f *File) Path() string { return f.m.Path() }

// Metadata returns the strings of __metadata__ in file order, in fresh memory; of a
// sharded model those of the index and of all shards.
func (f *File) Metadata() format.Metadata { return f.m.Metadata() }

// Len returns the number of tensors.
func (f *File) Len() int { return f.m.Len() }

// Tensor returns the tensor of that name, ErrNotFound when there is none. It takes some
// tens of nanoseconds and does not allocate.
func (f *File) Tensor(name string) (tensor.View, error) { return f.m.Tensor(name) }

// Tensors walks the tensors in file order, which is that of the header, or of the
// index of a sharded model.
func (f *File) Tensors() iter.Seq2[string, tensor.View] { return f.m.Tensors() }

// At returns tensor i in file order, 0 <= i < Len.
func (f *File) At(i int) tensor.View { return f.m.At(i) }

// Notes lists what is tolerable but worth knowing about the file.
func (f *File) Notes() []string { return f.m.Notes() }

// Verify finds headers that changed since they were read, and touches all data, so that
// a file that was cut short does not pass. The format has neither checksums nor
// signatures: a trusted key is ErrSignature. Other errors are those of
// format.Model.Verify.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) (*format.Coverage, error) {
	return f.m.Verify(ctx, opts...)
}

// Do runs fn with faults in the file's memory as errors; see format.Model.Do.
func (f *File) Do(fn func() error) error { return f.m.Do(fn) }

// Pin holds the memory across Close: Close returns, but slices stay valid until the last
// unpin. unpin may be called more than once.
func (f *File) Pin() (unpin func(), err error) { return f.m.Pin() }

// Prefetch asks the system to read all files ahead.
func (f *File) Prefetch() error { return f.m.Prefetch() }

// Stats says what the model takes and how it hands out its tensors.
func (f *File) Stats() format.Stats { return f.m.Stats() }

// Close forbids further access, waits for running View.Use calls, and unmaps all files.
// A second Close does nothing.
func (f *File) Close() error { return f.m.Close() }

// Shards returns the names of the files that the index of a sharded model joins, in the
// order in which it names them first; nil for a single file.
func (f *File) Shards() []string {
	if f.f == nil {
		return nil
	}
	return slices.Clone(f.f.shards)
}
