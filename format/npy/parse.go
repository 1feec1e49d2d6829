package npy

import (
	"encoding/binary"
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

// reader reads the headers of arrays.
type parser struct {
	head
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
	if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] {
		return p.errorf("magic", 0, format.ErrMagic, "the array begins with % x, not %q", b[:min(len(b), prefixLen)], magic)
	}
	if size < prefixLen {
		return p.errorf("header", size, format.ErrTruncated, "the array has %d bytes, its header begins with %d", size, prefixLen)
	}
	text := int64(prefixLen)
	length := int64(binary.LittleEndian.Uint16(b[8:]))
	switch p.major = b[6]; {
	case p.major < 1 || p.major > 3 || b[7] != 0:
		return p.errorf("version", 6, format.ErrVersion, "%d.%d, known are 1.0, 2.0 and 3.0", p.major, b[7])
	case p.major > 1 && size < wideLen:
		return p.errorf("header length", 8, format.ErrTruncated, "the array ends after %d bytes", size)
	case p.major > 1:
		text = wideLen
		length = int64(binary.LittleEndian.Uint32(b[8:]))
	}
	switch length += text; {
	case length > size:
		return p.errorf("header length", 8, format.ErrTruncated, "the header ends at %d, the array has %d bytes", length, size)
	case length > maxHeader:
		return p.errorf("header length", 8, format.ErrLimit, "the header has %d bytes, at most %d are allowed", length, int64(maxHeader))
	case length > int64(len(b)):
		if b, err = p.first(length); err != nil {
			return p.wrap("header", text, err)
		}
	}
	p.length = length
	p.text = b[text:length]
	p.from = text
	p.at = 0
	p.err = nil
	if p.dict(); p.err != nil {
		return p.err
	}
	return p.measure(text, size)
}

// measure computes the size of the data and compares it with the available bytes.
func (p *parser) measure(text, size int64) (err error) {
	shape := tensor.Shape(p.dims[:p.rank])
	left := size - p.length
	switch {
	case p.other != nil:
		p.elem = &listed
		p.size = left
		_, err = shape.Elems()
		if raw, ok := rawSize(p.other); ok && p.entry == nil {
			p.size, err = rawBytes(shape, raw)
		}
	default:
		p.size, err = (&tensor.Info{DType: p.elem.dtype, Shape: shape, Encoding: p.elem.enc}).ByteSize()
	}
	long := 0 // dims that an order can show in
	for _, d := range shape {
		if d > 1 {
			long++
		}
	}
	p.fortran = p.fortran && long > 1 && p.size > 0
	p.swap = p.swap && p.size > 0
	switch {
	case err != nil:
		return p.wrap("shape", text, fmt.Errorf("%w: %w", format.ErrCorrupt, err))
	case left < p.size && p.entry == nil:
		return p.errorf("data", size, format.ErrTruncated, "%d bytes are stored, shape %v takes %d", left, shape, p.size)
	case left != p.size:
		return p.errorf("data", p.length, format.ErrCorrupt, "%d bytes are stored, shape %v takes %d", left, shape, p.size)
	}
	return nil
}

// parsed is an open file of either format.
type parsed struct {
	zip.Tensors
	last   *tensor.Encoding // of a type that is listed
	others []string         // the first entries of an archive that are no arrays
}

func newParsed(x *driver.Index, o *driver.ParseOptions, n int) *parsed {
	return &parsed{
		Tensors: zip.Tensors{Index: x, Memory: o.Memory, Stores: make([]zip.Entry, 0, n), Places: make([]zip.Place, 0, n)},
	}
}

// add adds the tensor of the array in e whose header r has read.
func (f *parsed) add(p *parser, name []byte, e zip.Entry) error {
	dims := f.Index.Dims(p.rank)
	copy(dims, p.dims[:p.rank])
	t := driver.Tensor{Name: name, DType: p.elem.dtype, Encoding: f.encoding(&p.head), Shape: dims, Size: p.size}
	q := zip.Place{Store: len(f.Stores), From: p.length, Extent: p.size, Elem: int(p.elem.size)}
	if p.swap {
		q.Swap = p.elem.word
	}
	if p.fortran && p.other == nil { // the name of a listed type has the order
		q.Stride = make([]int64, p.rank)
		for k, n := 0, int64(1); k < p.rank; k++ {
			q.Stride[k] = n
			n *= dims[k]
		}
	}
	e.Locate(&t, &q)
	f.Stores = append(f.Stores, e)
	f.Places = append(f.Places, q)
	return f.Index.Add(&t)
}

// versions of the header; an archive has the highest of its arrays.
var versions = [...]string{"1.0", "2.0", "3.0"}

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	name, err := nameOf(src.Path())
	if err != nil {
		return nil, err
	}
	h := driver.ReadHead(src, o)
	p := &parser{first: h.Need}
	err = p.read(src.Size())
	if err != nil {
		h.Close(p.length)
		return nil, err
	}
	f := newParsed(x, o, 1)
	x.Version = versions[p.major-1]
	if string(p.other) == objectType {
		return f.parseObjects(src, h, p.length, o)
	}
	if err := h.Close(p.length); err != nil {
		return nil, err
	}
	x.Grow(1, len(name), p.rank)
	e := zip.Entry{File: &zip.File{Src: src, Plain: true}, Stored: src.Size(), Size: src.Size()}
	return &driver.Parsed{Load: f.Load, HeaderSize: p.length, DataOffset: p.length}, f.add(p, []byte(name), e)
}

// nameOf returns the tensor name for the path of a file.
func nameOf(path string) (string, error) {
	s := filepath.Base(path)
	if n := len(s) - len(extension); n >= 0 && strings.EqualFold(s[n:], extension) {
		s = s[:n]
	}
	if path == "" || s == "" {
		return "array", nil
	}
	if err := tensor.CheckName(s); err != nil {
		return "", wire.Error("", "file name", -1, err)
	}
	return s, nil
}
