package npy

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// head is the header of an array.
type head struct {
	elem    *elem
	swap    bool  // the words are big-endian
	fortran bool  // the first dim varies fastest, and that makes a difference
	length  int64 // of the header with all that is before it
	major   byte
	other   []byte // the type of elements that are listed, valid as long as the header
	rank    int
	dims    [maxRank]int64
	size    int64 // of the data
}

func (h *head) shape() tensor.Shape { return h.dims[:h.rank] }

// parser reads the headers of arrays.
type parser struct {
	head  head        // of the current array
	entry *zip.Member // in an archive, nil for a lone file
	// first returns at least the first n bytes of the array, which are valid until the next call.
	first func(n int64) ([]byte, error)

	text []byte // of the header
	from int64  // offset of the text in the array
	at   int    // position in the text
	err  error  // the first in the text
}

// errorf returns an error about a field at an offset in the array.
func (p *parser) errorf(field string, off int64, sentinel error, text string, args ...any) error {
	return p.wrap(field, off, fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...)))
}

func (p *parser) wrap(field string, off int64, err error) error {
	switch {
	case p.entry == nil:
		return wire.Error("", field, off, err)
	case p.entry.Packed: // the bytes of the array are not in the file
		off = 0
	}
	return p.entry.Wrap(field, p.entry.At+off, err)
}

// usualLen is the length of most headers.
const usualLen = 128

// read reads the header of an array of size bytes in total.
func (p *parser) read(size int64) error {
	p.head = head{}
	b, err := p.first(min(size, usualLen))
	if err != nil {
		return p.wrap("header", 0, err)
	}
	err = p.checkPrefix(b, size)
	if err != nil {
		return err
	}
	h := &p.head
	if h.length > int64(len(b)) {
		b, err = p.first(h.length)
		if err != nil {
			return p.wrap("header", p.from, err)
		}
	}
	p.text = b[p.from:h.length]
	p.at = 0
	p.err = nil
	p.dict()
	if p.err != nil {
		return p.err
	}
	return p.measure(size)
}

// checkPrefix reads and checks the prefix of the header in b.
func (p *parser) checkPrefix(b []byte, size int64) error {
	h := &p.head
	n := min(len(b), len(magic))
	if string(b[:n]) != magic[:n] {
		return p.errorf("magic", 0, format.ErrMagic, "% x instead of %q", b[:min(len(b), prefixLen)],
			magic)
	}
	if size < prefixLen {
		return p.errorf("header", size, format.ErrTruncated,
			"the array has %d bytes, its header begins with %d", size, prefixLen)
	}
	r := wire.NewRecord("", b, 0)
	x := readPrefix(&r)
	if x.major < 1 || x.major > 3 || x.minor != 0 {
		return p.errorf("version", r.At("version"), format.ErrVersion,
			"%d.%d, known are 1.0, 2.0 and 3.0", x.major, x.minor)
	}
	lengthAt := r.At("header length")
	if r.Err() != nil {
		return p.errorf("header length", lengthAt, format.ErrTruncated,
			"the array ends after %d bytes", size)
	}
	h.major = x.major
	p.from = r.Offset()
	h.length = p.from + x.length
	switch {
	case h.length > size:
		return p.errorf("header length", lengthAt, format.ErrTruncated,
			"the header ends at %d, the array has %d bytes", h.length, size)
	case h.length > maxHeader:
		return p.errorf("header length", lengthAt, format.ErrLimit,
			"the header has %d bytes, at most %d are allowed", h.length, int64(maxHeader))
	}
	return nil
}

// prefix is what precedes the text of the header.
type prefix struct {
	major, minor byte
	length       int64 // of the text
}

// readPrefix reads the prefix of a header.
func readPrefix(r *wire.Record) (x prefix) {
	r.Skip("magic", uint64(len(magic)))
	version := r.U16("version")
	x.major = byte(version)
	x.minor = byte(version >> 8)
	if x.major > 1 {
		x.length = int64(r.U32("header length"))
	} else {
		x.length = int64(r.U16("header length"))
	}
	return x
}

// measure computes the size of the data and compares it with the available bytes.
func (p *parser) measure(size int64) error {
	h := &p.head
	left := size - h.length
	err := p.computeSize(left)
	if err != nil {
		return p.wrap("shape", p.from, fmt.Errorf("%w: %w", format.ErrCorrupt, err))
	}
	shape := h.shape()
	long := 0 // dims that an order can show in
	for _, d := range shape {
		if d > 1 {
			long++
		}
	}
	h.fortran = h.fortran && long > 1 && h.size > 0
	h.swap = h.swap && h.size > 0
	switch {
	case left < h.size && p.entry == nil:
		return p.errorf("data", size, format.ErrTruncated, "%d bytes are stored, shape %v takes %d", left,
			shape, h.size)
	case left != h.size:
		return p.errorf("data", h.length, format.ErrCorrupt, "%d bytes are stored, shape %v takes %d",
			left, shape, h.size)
	}
	return nil
}

// computeSize sets the size of the data. Elements that are listed take the bytes that are left,
// unless their size is known.
func (p *parser) computeSize(left int64) (err error) {
	h := &p.head
	if h.other == nil {
		info := tensor.Info{DType: h.elem.dtype, Shape: h.shape(), Encoding: h.elem.enc}
		h.size, err = info.ByteSize()
		return err
	}
	h.elem = &listed
	h.size = left
	raw, ok := rawSize(h.other)
	if ok && p.entry == nil {
		h.size, err = rawBytes(h.shape(), raw)
		return err
	}
	_, err = h.shape().Elems()
	return err
}

// parsed is an open file of either format.
type parsed struct {
	zip.Tensors
	last   *tensor.Encoding // of a type that is listed
	others []string         // the first entries of an archive that are no arrays
}

func newParsed(x *driver.Index, o *driver.ParseOptions, n int) *parsed {
	return &parsed{Tensors: zip.Tensors{
		Index:  x,
		Memory: o.Memory,
		Stores: make([]zip.Entry, 0, n),
		Places: make([]zip.Place, 0, n),
	}}
}

// add adds the tensor of the array in e, which has the header h.
func (f *parsed) add(h *head, name []byte, e zip.Entry) error {
	dims := f.Index.Dims(h.rank)
	copy(dims, h.shape())
	t := driver.Tensor{
		Name:     name,
		DType:    h.elem.dtype,
		Encoding: f.encoding(h),
		Shape:    dims,
		Size:     h.size,
	}
	place := zip.Place{
		Store:  len(f.Stores),
		From:   h.length,
		Extent: h.size,
		Elem:   int(h.elem.size),
	}
	if h.swap {
		place.Swap = h.elem.word
	}
	if h.fortran && h.other == nil { // the name of a listed type has the order
		place.Stride = make([]int64, h.rank)
		step := int64(1)
		for k := range place.Stride {
			place.Stride[k] = step
			step *= dims[k]
		}
	}
	e.Locate(&t, &place)
	f.Stores = append(f.Stores, e)
	f.Places = append(f.Places, place)
	return f.Index.Add(&t)
}

// versions of the header; an archive has the highest of its arrays.
var versions = [...]string{"1.0", "2.0", "3.0"}

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed,
	error) {
	name, err := nameOf(src.Path())
	if err != nil {
		return nil, err
	}
	first := driver.ReadHead(src, o)
	p := &parser{first: func(n int64) ([]byte, error) { return first.Need(0, n) }}
	h := &p.head
	err = p.read(src.Size())
	if err != nil {
		first.Close(h.length)
		return nil, err
	}
	f := newParsed(x, o, 1)
	x.Version = versions[h.major-1]
	if string(h.other) == objectType {
		return f.parseObjects(src, first, h.length, o)
	}
	err = first.Close(h.length)
	if err != nil {
		return nil, err
	}
	x.Grow(1, len(name), h.rank)
	e := zip.Entry{File: &zip.File{Src: src, Plain: true}, Stored: src.Size(), Size: src.Size()}
	err = f.add(h, []byte(name), e)
	if err != nil {
		return nil, err
	}
	return &driver.Parsed{Load: f.Load, HeaderSize: h.length, DataOffset: h.length}, nil
}

// nameOf returns the tensor name for the path of a file.
func nameOf(path string) (string, error) {
	s := filepath.Base(path)
	n := len(s) - len(extension)
	if n >= 0 && strings.EqualFold(s[n:], extension) {
		s = s[:n]
	}
	if path == "" || s == "" {
		return "array", nil
	}
	err := tensor.CheckName(s)
	if err != nil {
		return "", wire.Error("", "file name", -1, err)
	}
	return s, nil
}
