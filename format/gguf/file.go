package gguf

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
)

// File is an open GGUF model, of one or several files. It adds methods of this format to
// format.Model. Its methods are safe for concurrent use. The zero File is closed.
//
// Version is "2" or "3". Metadata returns the entries in file order: string, bool, int64
// (json.Number for larger values), float64, and arrays as json.RawMessage. Tensors are
// in the order of the files. Notes lists duplicate keys, overlapping tensors, long names
// and unused bytes. As the format has no checksums, Verify only detects a structure that
// changed, or data that was cut off, since the file was opened; the Coverage says so.
type File struct {
	*format.Model
	f *parsed
}

// Open maps the file at path and reads its structure. If the file is the first part of
// a split model, Open opens the other parts too. Nil options work.
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

// Typed returns the metadata with the types in the file: uint8 to uint64, int8 to
// int32, [Int64], float32, [Float64], bool, string, and for arrays slices of uint8 to
// uint64, int8 to int64, float32, float64, bool and string; arrays of arrays are
// []any. Writing a schema with these entries preserves the types. Values that do not
// fit Options.MaxMemory are ErrLimit.
func (f *File) Typed() (m schema.Metadata, err error) {
	err = f.Guard(func() (err error) {
		if f.f != nil { // the model may be of another format
			m, err = f.f.metadata((*decoder).typed)
		}
		return err
	})
	return m, wire.Place(err, formatName, f.Path(), "")
}
