package gguf

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
)

// File is an open GGUF file, or an open model of several: a format.Model with what only
// this format has. Its methods are safe for concurrent use. The zero File is closed.
//
// Version is "2" or "3". Metadata returns the entries in file order: string, bool, int64
// (json.Number for what is beyond), float64, and arrays as json.RawMessage. Tensors come
// in the order of the files. Notes lists repeated keys, tensors that overlap, long names
// and bytes that nothing refers to. Verify reads the structure again and checks that all
// data is there: the format carries no checksums, so only what changed or was cut off
// since the file was opened is found, and the Coverage says so.
type File struct{ *format.Model }

// Open maps the file at path and reads its structure. When it is the first part of
// a split model, the other parts are opened with it. Nil options work.
func Open(path string, o *format.Options) (*File, error) { return file(codec.Open(path, o)) }

// OpenBytes reads a file from memory, which must not change while it is open.
func OpenBytes(b []byte, o *format.Options) (*File, error) { return file(codec.OpenBytes(b, o)) }

// OpenReaderAt reads a file of size bytes through r, fetching tensors on
// demand. The size of the structure is not stored anywhere, so 64 KiB are
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
	f := &File{m}
	if f.parsed() == nil {
		return nil, false
	}
	return f, true
}

// file is the File of a model that the codec opened.
func file(m *format.Model, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return &File{m}, nil
}

// parsed returns what the driver keeps of the file, nil for the zero File and a model of
// another format.
func (f *File) parsed() *parsed {
	p, _ := codec.Own(f.Model).(*parsed)
	return p
}

// Typed returns the entries with the types that they have in the file: uint8 to
// uint64, int8 to int32, [Int64], float32, [Float64], bool, string, and for
// arrays slices of uint8 to uint64, int8 to int64, float32, float64, bool and
// string; arrays of arrays are []any. A plan with these entries is written with
// the same types. It is nil where Options.MaxMemory leaves no room for the values.
func (f *File) Typed() (m format.Metadata) {
	_ = f.Do(func() error {
		if p := f.parsed(); p != nil {
			m, _ = p.metadata(entry.typed)
		}
		return nil
	})
	return m
}

// Value returns the first entry with a key as [File.Typed] does, and decodes no other. ok
// is false when there is none, or no room for it within Options.MaxMemory.
func (f *File) Value(key string) (value any, ok bool) {
	p := f.parsed()
	if p == nil {
		return nil, false
	}
	_ = f.Do(func() error {
		for e := range entries(whole(p.parts[0].meta)) {
			if string(e.key) != key {
				continue
			}
			n := e.room()
			if ok = p.opts.Memory.Reserve(n) == nil; ok {
				value = e.typed()
				p.opts.Memory.Release(n)
			}
			break
		}
		return nil
	})
	return value, ok
}
