package mag

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// File is an open .mag file of either container. Its metadata values are int64
// and float64, without the digests. The format has no signatures, so opening
// with a trusted key fails with ErrSignature.
type File struct {
	*format.Model
	f *parsed
}

// Open maps the file at path and reads its structure. Nil options work.
func Open(path string, o *format.Options) (*File, error) { return file(codec.Open(path, o)) }

// OpenBytes reads a file from memory, which must not change while it is open.
func OpenBytes(b []byte, o *format.Options) (*File, error) { return file(codec.OpenBytes(b, o)) }

// OpenReaderAt reads a file of size bytes through r: header and records now, data
// on request. The file does not store the size of header and records, so
// OpenReaderAt fetches 16 KiB first, or as much as that number of records usually
// takes, and then more until it has them all.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return file(codec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes of f from offset off; a size of -1 means the rest of
// the file.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return file(codec.OpenFile(f, off, size, o))
}

// From returns m as a File. It reports false if m is of another format.
func From(m *format.Model) (*File, bool) {
	f, ok := codec.Own(m).(*parsed)
	if !ok {
		return nil, false
	}
	return &File{m, f}, true
}

func file(m *format.Model, err error) (*File, error) {
	f, _ := From(m)
	return f, err
}

// Snapshot reports whether the file is a snapshot container rather than version 1.
func (f *File) Snapshot() bool { return f.f.container == &containerSnapshot }

// Timestamp returns the stored time of a snapshot, in Unix seconds. It returns 0
// for version 1, which has no timestamp.
func (f *File) Timestamp() uint64 { return f.f.stamp }

// Digest returns the recorded XXH64 (seed 0) of the data of a tensor. It reports
// false if there is no such tensor or no digest.
func (f *File) Digest(name string) (sum uint64, ok bool) {
	i, ok := f.f.index.Lookup(name)
	if !ok {
		return 0, false
	}
	d := f.f.digest(i)
	return d.Want, d.Kind != driver.NoSum
}
