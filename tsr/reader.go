package tsr

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/catalog"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

var (
	_ format.Model      = (*File)(nil)
	_ format.Noter      = (*File)(nil)
	_ format.Prefetcher = (*File)(nil)
)

// File is an open TSR file with its one tensor, or an open directory of them.
// Its methods are safe for concurrent use.
type File struct {
	*catalog.Catalog
	parts []part // the files of a directory, in the catalog's order; nil for one file
	notes []string
}

// Open maps the TSR file at path, or every .tsr file of the directory at path.
// Nil options work. Errors are *format.Error with field and offset in the
// file (see the package documentation), or wrap those of package os.
func Open(path string, o *format.Options) (*File, error) {
	return format.As[*File](codec.Open(path, o))
}

// OpenBytes reads a file from memory, which must not change while it is in use.
// Its tensor is named "tensor".
func OpenBytes(b []byte, o *format.Options) (*File, error) {
	return format.As[*File](codec.OpenBytes(b, o))
}

// OpenReaderAt reads a file of size bytes through r: the header now, the data
// each time they are asked for. Its tensor is named "tensor".
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return format.As[*File](codec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes at off of an open file; size -1 means to the end. f
// may be closed afterwards. The tensor is named after f.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return format.As[*File](codec.OpenFile(f, off, size, o))
}

// read parses the file in r.
func read(r *mapped.Region) (*File, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	_, path := r.Origin()
	tensorName, err := nameOf(path)
	if err != nil {
		return nil, err
	}
	f := &File{Catalog: catalog.New(r, name, "1", 1, len(tensorName), h.rank)}
	f.add(tensorName, &h, false)
	return f, nil
}

func readHeader(r *mapped.Region) (header, error) {
	b, err := r.Prefix(headerSize)
	if err != nil {
		return header{}, err
	}
	return parse(b, r.Size())
}

// add lists a tensor and reports false when its name is taken.
func (f *File) add(tensorName string, h *header, lazy bool) bool {
	shape := f.Dims(h.rank)
	copy(shape, h.shape())
	return f.Add(&catalog.Tensor{Name: []byte(tensorName), DType: h.dtype, Shape: shape, Offset: headerSize, Size: h.size, Lazy: lazy})
}

// nameOf returns the tensor name that the path of a file stands for.
func nameOf(path string) (string, error) {
	if path == "" {
		return "tensor", nil
	}
	s := strings.TrimSuffix(filepath.Base(path), extension)
	if err := tensor.CheckName(s); err != nil {
		return "", wire.Error(name, "file name", -1, err)
	}
	return s, nil
}

// Metadata returns nil: the format has none.
func (f *File) Metadata() format.Metadata { return nil }

// Notes lists what a directory contains beside its .tsr files.
func (f *File) Notes() []string { return f.notes }

// Pin holds the memory of all tensors across Close: Close returns, but slices
// stay valid until the last unpin. unpin may be called more than once.
func (f *File) Pin() (unpin func(), err error) {
	if f.parts == nil {
		return f.Catalog.Pin()
	}
	return f.pinParts()
}

// Close forbids further access, waits for running View.Use calls, and unmaps
// the file, or all files of the directory. A second Close does nothing.
func (f *File) Close() error {
	errs := []error{f.Catalog.Close()}
	for i := range f.parts {
		errs = append(errs, f.parts[i].file.Close())
	}
	return errors.Join(errs...)
}

// Prefetch asks the system to read all data ahead.
func (f *File) Prefetch() error {
	if f.parts == nil {
		return f.Catalog.Prefetch()
	}
	for i := range f.parts {
		if err := f.parts[i].file.Prefetch(0, f.parts[i].file.Size()); err != nil {
			return err
		}
	}
	return nil
}
