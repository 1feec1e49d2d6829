package tsr

import (
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is what is kept of an open file or directory.
type parsed struct {
	index *driver.Index
	src   driver.Source // of a file
	dir   driver.Dir    // of a directory
	notes []string

	// Of the file at hand, so that a directory's are not allocated one by one.
	header header
	name   []byte
	buf    [headerSize]byte
}

// parseFile reads a single file.
func parseFile(src driver.Source, x *driver.Index) (*parsed, error) {
	tensorName, err := nameOf(src.Path())
	if err != nil {
		return nil, err
	}
	f := &parsed{index: x, src: src}
	if err := f.header.read(src, f.buf[:]); err != nil {
		return nil, err
	}
	x.Version = "1"
	x.Grow(1, len(tensorName), maxRank)
	return f, f.add(0, tensorName)
}

// add lists the tensor of a file whose header was decoded.
func (f *parsed) add(space driver.Space, tensorName string) error {
	h := &f.header
	f.name = append(f.name[:0], tensorName...)
	shape := f.index.Dims(h.rank)
	copy(shape, h.shape())
	t := driver.Tensor{Name: f.name, DType: h.dtype, Shape: shape, Space: space, Offset: headerSize, Size: h.size}
	if f.index.Add(&t) != nil {
		return wire.Errorf(name, "file name", -1, format.ErrCorrupt, "tensor %q occurs twice", tensorName)
	}
	return nil
}

// read reads and checks the header of a file. buf has room for it.
func (h *header) read(src driver.Source, buf []byte) error {
	b, err := driver.First(src, buf)
	if err != nil {
		return err
	}
	return h.decode(b, src.Size())
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

// Verify implements driver.Parsed: headers that changed since they were read
// are found. The format has no sums.
func (f *parsed) Verify(v driver.Verification) error {
	return v.Each(f.index.Len(), func(i int) error {
		if !v.Wanted(i) {
			return nil
		}
		src := f.src
		if f.dir != nil {
			space, _, _ := f.index.Place(i)
			var err error
			if src, err = f.dir.OpenSpace(space); err != nil {
				return err
			}
		}
		var h header
		err := h.read(src, make([]byte, headerSize))
		if err == nil && (h.dtype != f.index.DType(i) || !h.shape().Equal(f.index.Shape(i))) {
			err = wire.Errorf(name, "header", 0, format.ErrCorrupt, "changed since the file was opened")
		}
		return wire.InFile(err, src.Path())
	})
}
