package mag

import (
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
func Open(path string, o *format.Options) (*File, error) {
	m, err := format.Open(path, o.With(Format{}))
	if err != nil {
		return nil, err
	}
	return &File{m, m.Own().(*parsed)}, nil
}

// From returns m as a File: one that was opened from memory (format.OpenBytes), a reader or a
// descriptor, for example. It reports false if m has another format.
func From(m *format.Model) (*File, bool) {
	f, ok := m.Own().(*parsed)
	if !ok {
		return nil, false
	}
	return &File{m, f}, true
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
