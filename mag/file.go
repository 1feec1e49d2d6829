package mag

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
)

// File is an open .mag file of either container: a model, and what only this format has.
// Metadata are int64 and float64 values; digests are not among them. The format has no
// signatures, so a trusted key is ErrSignature.
type File struct {
	*format.Model
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

// Snapshot reports whether the file is a snapshot container, not version 1.
func (f *File) Snapshot() bool { return f.f.snapshot }

// Timestamp returns when a snapshot was written, in Unix seconds as stored; 0
// for version 1, which has none.
func (f *File) Timestamp() uint64 { return f.f.stamp }

// Digest returns the XXH64 (seed 0) that the file records for the data of a
// tensor. ok is false when it records none.
func (f *File) Digest(name string) (sum uint64, ok bool) {
	i, ok := f.f.index.Lookup(name)
	if !ok {
		return 0, false
	}
	return f.f.digests.of(i)
}
