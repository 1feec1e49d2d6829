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
func (fileFormat) Parse(src driver.Source, x *driver.Index, _ *driver.ParseOptions) (*driver.Parsed,
	error) {
	x.Version = "1"
	x.Grow(1, len(src.Path()), maxRank)
	p := parser{index: x}
	head := p.head[:min(headerSize, src.Size())]
	_, err := src.ReadAt(head, 0)
	if err != nil {
		return nil, err
	}
	err = p.add(src.Path(), head, src.Size(), 0)
	if err != nil {
		return nil, err
	}
	return &driver.Parsed{Own: fileFormat{}}, nil
}

// ParseDir implements driver.DirParser. It reads the headers of all .tsr files in a directory,
// which form one model. It includes dangling links, so that opening them reports the error.
func (fileFormat) ParseDir(dir driver.Dir, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed,
	error) {
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
		return nil, wire.Errorf(formatName, "directory", -1, format.ErrCorrupt, "no %s file in it",
			extension)
	}
	x.Version = "1"
	x.Grow(len(names), size, maxRank*len(names))
	p := parser{index: x}
	dir.Expect(names)
	for _, file := range names {
		if err := o.Context.Err(); err != nil {
			return nil, err
		}
		err := p.addMember(dir, file)
		if err != nil {
			return nil, wire.Place(err, "", filepath.Join(dir.Path(), file), "")
		}
	}
	return &driver.Parsed{Own: fileFormat{}, Notes: note(others)}, nil
}

// addMember adds the tensor of a file of a directory.
func (p *parser) addMember(dir driver.Dir, file string) error {
	n, size, space, err := dir.Peek(file, p.head[:])
	if err != nil {
		return err
	}
	return p.add(file, p.head[:n], size, space)
}

// note returns the note about the ignored entries of a directory, if any.
func note(others []string) []string {
	const most = 5
	if len(others) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("ignored, not regular %s files: %s", extension,
		foreign.Names(others[:min(most, len(others))], len(others)))}
}

// add adds the tensor of a file of size bytes that begins with head.
func (p *parser) add(path string, head []byte, size int64, space driver.Space) error {
	p.name = append(p.name[:0], "tensor"...)
	if path != "" {
		p.name = append(p.name[:0], strings.TrimSuffix(filepath.Base(path), extension)...)
		if err := driver.CheckName(p.name); err != nil {
			return wire.Error(formatName, "file name", -1, err)
		}
	}
	t := driver.Tensor{Name: p.name, Space: space, Offset: headerSize}
	if err := p.decode(head, size, &t); err != nil {
		return err
	}
	if err := p.index.Add(&t); err != nil {
		return wire.Error(formatName, "file name", -1, err)
	}
	return nil
}

// header is the header of a file.
type header struct {
	code     int32 // of the dtype
	rank     int32
	dims     [maxRank]int32
	elements int64
}

// readHeader reads the header and checks its fields one by one.
func readHeader(r *wire.Record) (h header) {
	r.Text("magic", magic, format.ErrMagic)
	must(r, int64(r.I32("version")), version, format.ErrVersion)
	must(r, int64(r.I32("header_size")), headerSize, format.ErrCorrupt)
	must(r, int64(r.I32("reserved_1")), 0, format.ErrCorrupt)
	h.code = r.I32("dtype")
	if h.code < 1 || int(h.code) > len(dtypes) {
		r.Bad(format.ErrUnsupported, "dtype %d", h.code)
	}
	h.rank = r.I32("ndim")
	if h.rank < 0 || h.rank > maxRank {
		r.Bad(format.ErrCorrupt, "%d, not 0 to 4", h.rank)
	}
	for i := range h.dims {
		h.dims[i] = r.I32(fieldOfDim[i])
		isUsed := i >= maxRank-int(h.rank)
		if !isUsed {
			must(r, int64(h.dims[i]), 1, format.ErrCorrupt)
		}
		if h.dims[i] < 0 {
			r.Bad(format.ErrCorrupt, "%d is negative", h.dims[i])
		}
	}
	h.elements = r.I64("total_elements")
	must(r, r.I64("reserved_2"), 0, format.ErrCorrupt)
	must(r, r.I64("reserved_3"), 0, format.ErrCorrupt)
	return h
}

// must refuses the field just read unless it is want.
func must(r *wire.Record, v, want int64, sentinel error) {
	if v != want {
		r.Bad(sentinel, "%d, not %d", v, want)
	}
}

// decode fills in t from the header b of a file of fileSize bytes.
func (p *parser) decode(b []byte, fileSize int64, t *driver.Tensor) error {
	r := wire.NewRecord(formatName, b, 0)
	h := readHeader(&r)
	if r.Err() != nil {
		return r.Err()
	}
	t.DType = dtypes[h.code-1]
	t.Shape = p.index.Dims(int(h.rank))
	for i := range t.Shape {
		t.Shape[i] = int64(h.dims[maxRank-len(t.Shape)+i])
	}
	size, err := t.Shape.ByteSize(t.DType)
	if err != nil {
		r.Fail("dims", r.At(fieldOfDim[0]), fmt.Errorf("%w: %w", format.ErrCorrupt, err))
		return r.Err()
	}
	t.Size = size
	n := size / t.DType.Size()
	if n != h.elements {
		r.BadField("total_elements", format.ErrCorrupt, "%d, but shape %v has %d", h.elements, t.Shape, n)
	}
	stored := fileSize - headerSize
	if stored < size {
		err := fmt.Errorf("%w: %d bytes are stored, shape %v takes %d", format.ErrTruncated, stored,
			t.Shape, size)
		r.Fail("data", fileSize, err)
	}
	if stored > size {
		err := fmt.Errorf("%w: %d bytes follow the data", format.ErrCorrupt, stored-size)
		r.Fail("data", headerSize+size, err)
	}
	return r.Err()
}

var fieldOfDim = [maxRank]string{"dims[0]", "dims[1]", "dims[2]", "dims[3]"}
