package tsr

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/wire"
)

// parser adds the tensors of a file or a directory to an index.
type parser struct {
	index *driver.Index
	head  [headerSize]byte // of the current file
	name  []byte           // of its tensor
}

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, _ *driver.ParseOptions) (*driver.Parsed, error) {
	x.Version = "1"
	x.Grow(1, len(src.Path()), maxRank)
	p := parser{index: x}
	head := p.head[:min(headerSize, src.Size())]
	if _, err := src.ReadAt(head, 0); err != nil {
		return nil, err
	}
	return &driver.Parsed{Own: fileFormat{}}, p.add(src.Path(), head, src.Size(), 0)
}

// ParseDir implements driver.DirParser. It reads the headers of all .tsr files in a directory, which form one
// model. It includes dangling links, so that opening them reports the error.
func (fileFormat) ParseDir(dir driver.Dir, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	entries, err := dir.Entries()
	if err != nil {
		return nil, err
	}
	var names, others []string
	size := 0
	for _, e := range entries {
		if (e.Regular || e.Err != nil) && strings.HasSuffix(e.Name, extension) {
			names = append(names, e.Name)
			size += len(e.Name)
		} else {
			others = append(others, e.Name)
		}
	}
	if len(names) == 0 {
		return nil, wire.Errorf(name, "directory", -1, format.ErrCorrupt, "no %s file in it", extension)
	}
	x.Version = "1"
	x.Grow(len(names), size, maxRank*len(names))
	p := parser{index: x}
	dir.Expect(names)
	for _, file := range names {
		if err := o.Context.Err(); err != nil {
			return nil, err
		}
		n, size, space, err := dir.Peek(file, p.head[:])
		if err == nil {
			err = p.add(file, p.head[:n], size, space)
		}
		if err != nil {
			return nil, wire.Place(err, "", filepath.Join(dir.Path(), file), "")
		}
	}
	return &driver.Parsed{Own: fileFormat{}, Notes: note(others)}, nil
}

// note returns the note about the ignored entries of a directory, if any.
func note(others []string) []string {
	const most = 5
	if len(others) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("ignored, not regular %s files: %s", extension, foreign.Names(others[:min(most, len(others))], len(others)))}
}

// add adds the tensor of a file of size bytes that begins with head.
func (p *parser) add(path string, head []byte, size int64, space driver.Space) error {
	p.name = append(p.name[:0], "tensor"...)
	if path != "" {
		p.name = append(p.name[:0], strings.TrimSuffix(filepath.Base(path), extension)...)
		if err := driver.CheckName(p.name); err != nil {
			return wire.Error(name, "file name", -1, err)
		}
	}
	t := driver.Tensor{Name: p.name, Space: space, Offset: headerSize}
	if err := p.decode(head, size, &t); err != nil {
		return err
	}
	if err := p.index.Add(&t); err != nil {
		return wire.Error(name, "file name", -1, err)
	}
	return nil
}

// decode fills in t from the header b. Its errors name the field and its offset.
func (p *parser) decode(b []byte, fileSize int64, t *driver.Tensor) error {
	c := wire.NewCursor(name, b, 0)
	// must refuses the field just read, of width bytes, unless it is want.
	must := func(field string, width, v, want int64, sentinel error) {
		if v != want {
			c.Failf(field, c.Offset()-width, sentinel, "%d, not %d", v, want)
		}
	}
	if m := c.Bytes("magic", 4); m != nil && string(m) != magic {
		c.Failf("magic", 0, format.ErrMagic, "the file begins with % x, not %q", m, magic)
	}
	must("version", 4, int64(c.I32("version")), version, format.ErrVersion)
	must("header_size", 4, int64(c.I32("header_size")), headerSize, format.ErrCorrupt)
	must("reserved_1", 4, int64(c.I32("reserved_1")), 0, format.ErrCorrupt)
	if code := c.I32("dtype"); code >= 1 && code <= int32(len(dtypes)) {
		t.DType = dtypes[code-1]
	} else {
		c.Failf("dtype", c.Offset()-4, format.ErrUnsupported, "dtype %d", code)
	}
	rank := c.I32("ndim")
	if rank < 0 || rank > maxRank {
		c.Failf("ndim", c.Offset()-4, format.ErrCorrupt, "%d, not 0 to 4", rank)
	}
	if c.Err() != nil {
		return c.Err()
	}
	t.Shape = p.index.Dims(int(rank))
	for i := range maxRank {
		field := fieldOfDim[i]
		d := int64(c.I32(field))
		if unused := i < maxRank-len(t.Shape); unused {
			must(field, 4, d, 1, format.ErrCorrupt)
		} else {
			t.Shape[i-maxRank+len(t.Shape)] = d
		}
		if d < 0 {
			c.Failf(field, c.Offset()-4, format.ErrCorrupt, "%d is negative", d)
		}
	}
	elements := c.I64("total_elements")
	must("reserved_2", 8, c.I64("reserved_2"), 0, format.ErrCorrupt)
	must("reserved_3", 8, c.I64("reserved_3"), 0, format.ErrCorrupt)
	var err error
	t.Size, err = t.Shape.ByteSize(t.DType)
	n, stored := t.Size/t.DType.Size(), fileSize-headerSize
	switch {
	case err != nil:
		c.Fail("dims", offDims, fmt.Errorf("%w: %w", format.ErrCorrupt, err))
	case n != elements:
		c.Failf("total_elements", offElements, format.ErrCorrupt, "%d, but shape %v has %d", elements, t.Shape, n)
	case stored < t.Size:
		c.Failf("data", fileSize, format.ErrTruncated, "%d bytes are stored, shape %v takes %d", stored, t.Shape, t.Size)
	case stored > t.Size:
		c.Failf("data", headerSize+t.Size, format.ErrCorrupt, "%d bytes follow the data", stored-t.Size)
	}
	return c.Err()
}

var fieldOfDim = [maxRank]string{"dims[0]", "dims[1]", "dims[2]", "dims[3]"}
