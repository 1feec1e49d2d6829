package tsr

import (
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is what is kept of an open file or directory besides its index.
type parsed struct {
	parts []part // by tensor
	notes []string
}

// part is one file, and what its header said when it was opened.
type part struct {
	src    driver.Source
	header header
}

// parseFile reads a single file.
func parseFile(src driver.Source, x *driver.Index) (*parsed, error) {
	tensorName, err := nameOf(src.Path())
	if err != nil {
		return nil, err
	}
	f := &parsed{}
	x.Version = "1"
	x.Grow(1, len(tensorName), maxRank)
	return f, f.add(src, 0, tensorName, x)
}

// add parses the header of a file and lists its tensor.
func (f *parsed) add(src driver.Source, space driver.Space, tensorName string, x *driver.Index) error {
	h, err := readHeader(src)
	if err != nil {
		return err
	}
	shape := x.Dims(h.rank)
	copy(shape, h.shape())
	t := driver.Tensor{Name: []byte(tensorName), DType: h.dtype, Shape: shape, Space: space, Offset: headerSize, Size: h.size}
	if !x.Add(&t) {
		return wire.Errorf(name, "file name", -1, format.ErrCorrupt, "tensor %q occurs twice", tensorName)
	}
	f.parts = append(f.parts, part{src, h})
	return nil
}

func readHeader(src driver.Source) (header, error) {
	b, err := driver.Prefix(src, headerSize)
	if err != nil {
		return header{}, err
	}
	return decodeHeader(b, src.Size())
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

// Notes implements driver.NotesFile.
func (f *parsed) Notes() []string { return f.notes }

// Verify implements driver.Verifier: headers that changed since they were read
// are found. The format has no sums.
func (f *parsed) Verify(v driver.Verification) error {
	return v.Each(len(f.parts), func(i int) error {
		p := &f.parts[i]
		if !v.Wanted(i) {
			return nil
		}
		h, err := readHeader(p.src)
		if err == nil && h != p.header {
			err = wire.Errorf(name, "header", 0, format.ErrCorrupt, "changed since the file was opened")
		}
		return wire.InFile(err, p.src.Path())
	})
}
