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
type reader struct {
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
func (r *reader) errorf(field string, off int64, sentinel error, text string, args ...any) error {
	return r.wrap(field, off, fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...)))
}

func (r *reader) wrap(field string, off int64, err error) error {
	switch {
	case r.entry == nil:
		return wire.Error("", field, off, err)
	case r.entry.Packed: // the bytes of the array are not in the file
		off = 0
	}
	return r.entry.Wrap(field, r.entry.At+off, err)
}

// usualLen is the length of most headers.
const usualLen = 128

// read reads the header of an array of size bytes in total.
func (r *reader) read(size int64) error {
	r.head = head{}
	b, err := r.first(min(size, usualLen))
	if err != nil {
		return r.wrap("header", 0, err)
	}
	if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] {
		return r.errorf("magic", 0, format.ErrMagic, "the array begins with % x, not %q", b[:min(len(b), prefixLen)], magic)
	}
	if size < prefixLen {
		return r.errorf("header", size, format.ErrTruncated, "the array has %d bytes, its header begins with %d", size, prefixLen)
	}
	text := int64(prefixLen)
	length := int64(binary.LittleEndian.Uint16(b[8:]))
	switch r.major = b[6]; {
	case r.major < 1 || r.major > 3 || b[7] != 0:
		return r.errorf("version", 6, format.ErrVersion, "%d.%d, known are 1.0, 2.0 and 3.0", r.major, b[7])
	case r.major > 1 && size < wideLen:
		return r.errorf("header length", 8, format.ErrTruncated, "the array ends after %d bytes", size)
	case r.major > 1:
		text = wideLen
		length = int64(binary.LittleEndian.Uint32(b[8:]))
	}
	switch length += text; {
	case length > size:
		return r.errorf("header length", 8, format.ErrTruncated, "the header ends at %d, the array has %d bytes", length, size)
	case length > maxHeader:
		return r.errorf("header length", 8, format.ErrLimit, "the header has %d bytes, at most %d are allowed", length, int64(maxHeader))
	case length > int64(len(b)):
		if b, err = r.first(length); err != nil {
			return r.wrap("header", text, err)
		}
	}
	r.length = length
	r.text = b[text:length]
	r.from = text
	r.at = 0
	r.err = nil
	if r.dict(); r.err != nil {
		return r.err
	}
	return r.measure(text, size)
}

// measure computes the size of the data and compares it with the available bytes.
func (r *reader) measure(text, size int64) (err error) {
	shape := tensor.Shape(r.dims[:r.rank])
	left := size - r.length
	switch {
	case r.other != nil:
		r.elem = &listed
		r.size = left
		_, err = shape.Elems()
		if raw, ok := rawSize(r.other); ok && r.entry == nil {
			r.size, err = rawBytes(shape, raw)
		}
	default:
		r.size, err = (&tensor.Info{DType: r.elem.dtype, Shape: shape, Encoding: r.elem.enc}).ByteSize()
	}
	long := 0 // dims that an order can show in
	for _, d := range shape {
		if d > 1 {
			long++
		}
	}
	r.fortran = r.fortran && long > 1 && r.size > 0
	r.swap = r.swap && r.size > 0
	switch {
	case err != nil:
		return r.wrap("shape", text, fmt.Errorf("%w: %w", format.ErrCorrupt, err))
	case left < r.size && r.entry == nil:
		return r.errorf("data", size, format.ErrTruncated, "%d bytes are stored, shape %v takes %d", left, shape, r.size)
	case left != r.size:
		return r.errorf("data", r.length, format.ErrCorrupt, "%d bytes are stored, shape %v takes %d", left, shape, r.size)
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
func (f *parsed) add(r *reader, name []byte, e zip.Entry) error {
	dims := f.Index.Dims(r.rank)
	copy(dims, r.dims[:r.rank])
	t := driver.Tensor{Name: name, DType: r.elem.dtype, Encoding: f.encoding(&r.head), Shape: dims, Size: r.size}
	p := zip.Place{Store: len(f.Stores), From: r.length, Extent: r.size, Elem: int(r.elem.size)}
	if r.swap {
		p.Swap = r.elem.word
	}
	if r.fortran && r.other == nil { // the name of a listed type has the order
		p.Stride = make([]int64, r.rank)
		for k, n := 0, int64(1); k < r.rank; k++ {
			p.Stride[k] = n
			n *= dims[k]
		}
	}
	e.Locate(&t, &p)
	f.Stores = append(f.Stores, e)
	f.Places = append(f.Places, p)
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
	r := &reader{first: h.Need}
	err = r.read(src.Size())
	if err != nil {
		h.Close(r.length)
		return nil, err
	}
	f := newParsed(x, o, 1)
	x.Version = versions[r.major-1]
	if string(r.other) == objectType {
		return f.parseObjects(src, h, r.length, o)
	}
	if err := h.Close(r.length); err != nil {
		return nil, err
	}
	x.Grow(1, len(name), r.rank)
	e := zip.Entry{File: &zip.File{Src: src, Plain: true}, Stored: src.Size(), Size: src.Size()}
	return &driver.Parsed{Load: f.Load, HeaderSize: r.length, DataOffset: r.length}, f.add(r, []byte(name), e)
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
