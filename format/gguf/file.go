package gguf

import (
	"context"
	"io"
	"iter"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open GGUF file, or an open model of several. Its methods are safe
// for concurrent use. The zero File is closed.
type File struct {
	m *format.Model
	f *parsed
}

// Open maps the file at path and reads its structure. When it is the first part of
// a split model, the other parts are opened with it. Nil options work.
func Open(path string, o *format.Options) (*File, error) { return file(codec.Open(path, o)) }

// OpenBytes reads a file from memory, which must not change while it is open.
func OpenBytes(b []byte, o *format.Options) (*File, error) { return file(codec.OpenBytes(b, o)) }

// OpenReaderAt reads a file of size bytes through r, fetching tensors when they
// are asked for. The size of the structure is not stored anywhere, so 64 KiB are
// fetched first, and more each time that was too little.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return file(codec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes at off of an open file; size -1 means to the end.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return file(codec.OpenFile(f, off, size, o))
}

// From returns the File of a model that package format opened, and whether it
// is one of this format.
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

// Format returns "gguf".
func (f *File) Format() string { return f.m.Format() }

// Version returns "2" or "3".
func (f *File) Version() string { return f.m.Version() }

// Path returns the name the file was opened by, "" for bytes and readers.
func (f *File) Path() string { return f.m.Path() }

// Metadata returns the entries in file order, in fresh memory: string, bool, int64
// (json.Number for what is beyond), float64, and arrays as json.RawMessage.
func (f *File) Metadata() format.Metadata { return f.m.Metadata() }

// Typed returns the entries with the types that they have in the file: uint8 to
// uint64, int8 to int32, [Int64], float32, [Float64], bool, string, and for
// arrays slices of uint8 to uint64, int8 to int64, float32, float64, bool and
// string; arrays of arrays are []any. A plan with these entries is written with
// the same types.
func (f *File) Typed() (m format.Metadata) {
	_ = f.m.Do(func() error {
		m = f.f.metadata(typed)
		return nil
	})
	return m
}

// Value returns the first entry with a key as [File.Typed] does, and decodes no other. ok
// is false when there is none.
func (f *File) Value(key string) (value any, ok bool) {
	_ = f.m.Do(func() error {
		f.f.parts[0].each(func(k []byte, t valueType, b []byte) bool {
			if ok = string(k) == key; ok {
				value = typed(t, b)
			}
			return !ok
		})
		return nil
	})
	return value, ok
}

// Alignment returns what the offsets of tensors are multiples of, in the first
// file of a split model.
func (f *File) Alignment() int64 {
	if f.f == nil {
		return 0
	}
	return f.f.parts[0].align
}

// Parts returns the number of files that the model is in.
func (f *File) Parts() int {
	if f.f == nil {
		return 0
	}
	return len(f.f.parts)
}

// Len returns the number of tensors.
func (f *File) Len() int { return f.m.Len() }

// Tensor returns the tensor of that name, ErrNotFound when there is none. It
// takes some tens of nanoseconds and does not allocate.
func (f *File) Tensor(name string) (tensor.View, error) { return f.m.Tensor(name) }

// Tensors walks the tensors in the order of the files.
func (f *File) Tensors() iter.Seq2[string, tensor.View] { return f.m.Tensors() }

// At returns tensor i in that order, 0 <= i < Len.
func (f *File) At(i int) tensor.View { return f.m.At(i) }

// Notes lists what is tolerable but worth knowing about the file: repeated keys,
// tensors that overlap, long names, bytes that nothing refers to.
func (f *File) Notes() []string { return f.m.Notes() }

// Verify parses the structure again and checks that all data is there. The format
// carries no checksums: only what changed or was cut off since the file was opened
// is found, and the Coverage says so. Errors are those of format.Model.Verify.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) (*format.Coverage, error) {
	return f.m.Verify(ctx, opts...)
}

// Do runs fn with faults in the file's memory as errors; see format.Model.Do.
func (f *File) Do(fn func() error) error { return f.m.Do(fn) }

// Pin holds the memory across Close: Close returns, but slices stay valid until
// the last unpin. unpin may be called more than once.
func (f *File) Pin() (unpin func(), err error) { return f.m.Pin() }

// Prefetch asks the system to read all data ahead.
func (f *File) Prefetch() error { return f.m.Prefetch() }

// Stats says what the model takes and how it hands out its tensors.
func (f *File) Stats() format.Stats { return f.m.Stats() }

// Close forbids further access, waits for running View.Use calls, and unmaps
// the files. A second Close does nothing.
func (f *File) Close() error { return f.m.Close() }
