package mag

import (
	"context"
	"io"
	"iter"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open .mag file of either container. Its methods are safe for
// concurrent use. The zero File is closed.
type File struct {
	m *format.Model
	f *parsed
}

// Open maps the file at path and reads its structure. Nil options work.
func Open(path string, o *format.Options) (*File, error) { return file(codec.Open(path, o)) }

// OpenBytes reads a file from memory, which must not change while it is open.
func OpenBytes(b []byte, o *format.Options) (*File, error) { return file(codec.OpenBytes(b, o)) }

// OpenReaderAt reads a file of size bytes through r, fetching tensors when they
// are asked for. The size of the structural part is not stored anywhere, so
// 16 KiB are fetched first, or what so many records usually take, and more each time
// that was too little.
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
	f, ok := codec.Own(m).(*parsed)
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

// Format returns "mag".
func (f *File) Format() string { return f.m.Format() }

// Version returns "1", or "0.1.0" for a snapshot.
func (f *File) Version() string { return f.m.Version() }

// Path returns the name the file was opened by, "" for bytes and readers.
func (f *File) Path() string { return f.m.Path() }

// Metadata returns the ordinary entries in file order, int64 and float64 values,
// in fresh memory. Digests are not among them; see Digest. Snapshots have none.
func (f *File) Metadata() format.Metadata { return f.m.Metadata() }

// Len returns the number of tensors.
func (f *File) Len() int { return f.m.Len() }

// Tensor returns the tensor of that name, ErrNotFound when there is none. It
// takes some tens of nanoseconds and does not allocate.
func (f *File) Tensor(name string) (tensor.View, error) { return f.m.Tensor(name) }

// Tensors walks the tensors in file order, which is that of their records.
func (f *File) Tensors() iter.Seq2[string, tensor.View] { return f.m.Tensors() }

// At returns tensor i in file order, 0 <= i < Len.
func (f *File) At(i int) tensor.View { return f.m.At(i) }

// Notes lists what is tolerable but worth knowing about the file.
func (f *File) Notes() []string { return f.m.Notes() }

// Verify checks the checksum of header and records, and the digest of every
// tensor that has one; data without a digest is touched, so that a file that
// was cut short does not pass, and the Coverage names its tensors. Errors are
// those of format.Model.Verify; a trusted key is ErrSignature, for the format has
// no signatures.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) (*format.Coverage, error) {
	return f.m.Verify(ctx, opts...)
}

// Do runs fn with faults in the file's memory as errors; see format.Model.Do.
func (f *File) Do(fn func() error) error { return f.m.Do(fn) }

// Pin holds the memory across Close: Close returns, but slices stay valid until
// the last unpin. unpin may be called more than once.
func (f *File) Pin() (unpin func(), err error) { return f.m.Pin() }

// Prefetch asks the system to read the whole file ahead.
func (f *File) Prefetch() error { return f.m.Prefetch() }

// Stats says what the model takes and how it hands out its tensors.
func (f *File) Stats() format.Stats { return f.m.Stats() }

// Close forbids further access, waits for running View.Use calls, and unmaps
// the file. A second Close does nothing.
func (f *File) Close() error { return f.m.Close() }

// Snapshot reports whether the file is a snapshot container, not version 1.
func (f *File) Snapshot() bool { return f.f != nil && f.f.snapshot }

// Timestamp returns when a snapshot was written, in Unix seconds as stored; 0
// for version 1, which has none.
func (f *File) Timestamp() uint64 {
	if f.f == nil {
		return 0
	}
	return f.f.stamp
}

// Digest returns the XXH64 (seed 0) that the file records for the data of a
// tensor. ok is false when it records none.
func (f *File) Digest(name string) (sum uint64, ok bool) {
	if f.f == nil {
		return 0, false
	}
	i, ok := f.f.index.Lookup(name)
	if !ok || !f.f.hasDigest(i) {
		return 0, false
	}
	return f.f.digests[i], true
}
