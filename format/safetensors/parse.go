package safetensors

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is what is kept of an open model beside its index.
type parsed struct {
	texts    []text   // the file's; that of the index and those of the shards
	shards   []string // names of the shards; nil for one file
	unlisted int      // tensors of shards that the index does not name
	listed   bool     // some tensors are of no dtype of this library
	memory   *driver.Memory
}

// text is the part of a file that was parsed, and what Verify and Metadata need of it.
type text struct {
	src      driver.Source
	len      int64
	sum      uint64 // of the process, to find out whether the file changed
	metadata []byte // the object with the metadata, nil for none
}

var seed = maphash.MakeSeed()

// read returns the text in private memory, which memory counts while done was not called.
func (t *text) read(memory *driver.Memory) (b []byte, done func(), err error) {
	if err := memory.Reserve(t.len); err != nil {
		return nil, nil, wire.Error(formatName, "header length", 0, err)
	}
	done = func() { memory.Release(t.len) }
	read := false
	defer func() {
		if !read { // with an error, or a panic of the reader
			done()
		}
	}()
	if t.src.InMemory() {
		b = make([]byte, t.len)
		_, err = t.src.ReadAt(b, 0)
	} else {
		b, err = t.src.Slice(0, t.len) // which allocates nothing for bytes that a reader lacks
	}
	t.sum = maphash.Bytes(seed, b)
	read = err == nil
	return b, done, err
}

// parseFile reads a file with tensors, which is in a space and begins with head, into x.
func (f *parsed) parseFile(src driver.Source, head []byte, space driver.Space, x *driver.Index, o *driver.Options) error {
	c := wire.NewCursor(formatName, head, 0)
	n := c.U64("header length")
	switch {
	case c.Err() != nil:
		return c.Err()
	case n > uint64(src.Size()-lengthSize):
		return wire.Errorf(formatName, "header length", 0, format.ErrTruncated, "%d bytes, %d are left", n, src.Size()-lengthSize)
	case n > maxHeader || int64(n) > o.MaxHeaderBytes:
		return wire.Errorf(formatName, "header length", 0, format.ErrLimit, "%d bytes, the limit is %d", n, min(maxHeader, o.MaxHeaderBytes))
	}
	t := text{src: src, len: lengthSize + int64(n)}
	b, done, err := t.read(o.Memory)
	if err != nil {
		return err
	}
	defer done()
	p := parser{x: x, o: o, space: space, start: t.len, size: src.Size() - t.len, sorted: true}
	if err := p.header(b[lengthSize:]); err != nil {
		return err
	}
	t.metadata = p.meta
	f.listed = f.listed || p.encoding != nil
	f.texts = append(f.texts, t)
	return nil
}

// parser reads one header.
type parser struct {
	s     jsonmeta.Scanner
	x     *driver.Index
	o     *driver.Options
	space driver.Space
	meta  []byte

	start, size int64 // of the buffer behind the header
	next        int64 // in the buffer: where a tensor begins if all are in order
	sorted      bool  // so far they are
	dims        []int64
	encoding    *tensor.Encoding // of the last tensor that has one
}

// strict are the rules of the reference's JSON parser.
var strict = jsonmeta.Options{MaxDepth: maxDepth}

// header reads all of it.
func (p *parser) header(b []byte) error {
	p.s = jsonmeta.NewScanner(b, strict)
	p.grow(b)
	seen := false
	err := p.s.Object(func(key []byte, at int) error {
		if string(key) != metadataKey {
			return p.tensor(key, at)
		}
		if seen {
			return p.fail(metadataKey, at, format.ErrCorrupt, "it occurs twice")
		}
		seen = true
		return p.metadata(b)
	})
	if err == nil {
		err = p.s.End()
	}
	if err != nil {
		return located(err, "header", lengthSize)
	}
	return p.covered()
}

// The least that an entry takes: `"":{"dtype":"","shape":[],"data_offsets":[0,0]},`
const minEntry = 49

// grow makes room for what seems to come. Wrong guesses cost allocations, and no more
// memory than a few times the header.
func (p *parser) grow(b []byte) {
	n := min(bytes.Count(b, []byte{'{'}), len(b)/minEntry+1, p.o.MaxTensors)
	// An entry has three commas of its own, one behind it, and one less than dims. The
	// braces of all and of the metadata are no entries.
	dims := min(max(bytes.Count(b, []byte{','})-3*n+8, 0), 8*n)
	p.x.Grow(n, min(max(len(b)-minEntry*n, 0), 256*n), dims)
}

// fail makes an error about a place in the header.
func (p *parser) fail(field string, at int, sentinel error, text string, args ...any) error {
	return wire.Errorf(formatName, field, lengthSize+int64(at), sentinel, text, args...)
}

// located gives the place to what is wrong with a JSON text that is at base.
func located(err error, field string, base int64) error {
	if j, ok := err.(*jsonmeta.Error); ok {
		return wire.Error(formatName, field, base+j.Offset, err)
	}
	return err
}

// metadata reads the object with the strings, or null.
func (p *parser) metadata(b []byte) error {
	if p.s.Null() {
		return nil
	}
	from := p.s.Offset()
	err := p.s.Unique(func() error {
		_, err := p.s.Text()
		return err
	})
	if err == nil {
		err = p.o.Memory.Reserve(int64(p.s.Offset() - from))
	}
	p.meta = bytes.Clone(b[from:p.s.Offset()])
	return located(err, metadataKey, lengthSize)
}

// entry is what the header says of a tensor, but for the shape.
type entry struct {
	dtype      []byte
	begin, end int64
	found      uint8 // a bit for each field
}

// tensor reads the entry of a tensor and lists it.
func (p *parser) tensor(name []byte, at int) error {
	var e entry
	err := p.s.Object(func(key []byte, at int) error { return p.field(&e, key, at) })
	if err != nil {
		return located(err, tensorField(name), lengthSize)
	}
	t := driver.Tensor{Name: name, Shape: p.dims, Space: p.space, Offset: p.start + e.begin, Size: e.end - e.begin}
	switch {
	case e.found != 1<<3-1:
		err = fmt.Errorf("%w: it lacks a dtype, a shape or data_offsets", format.ErrCorrupt)
	case p.x.Len() >= p.o.MaxTensors:
		err = fmt.Errorf("%w: more than %d tensors", format.ErrLimit, p.o.MaxTensors)
	default:
		err = p.check(&t, &e)
	}
	if err == nil && p.x.Add(&t) != nil {
		err = fmt.Errorf("%w: the name occurs twice", format.ErrCorrupt)
	}
	if err != nil {
		return wire.Error(formatName, tensorField(name), lengthSize+int64(at), err)
	}
	p.sorted = p.sorted && e.begin == p.next
	p.next = e.end
	return nil
}

func tensorField(name []byte) string { return fmt.Sprintf("tensor %q", name) }

// field reads one field of an entry. Unknown ones are ignored.
func (p *parser) field(e *entry, key []byte, at int) (err error) {
	var bit uint8
	switch string(key) {
	case "dtype":
		bit = 1
		e.dtype, err = p.s.Text()
	case "shape":
		bit = 2
		p.dims, err = p.integers(p.dims[:0])
	case "data_offsets":
		bit = 4
		var list []int64
		if list, err = p.integers(make([]int64, 0, 2)); err == nil && len(list) != 2 {
			return &jsonmeta.Error{Offset: int64(at), Reason: fmt.Sprintf("%d data_offsets instead of 2", len(list))}
		}
		if err == nil {
			e.begin, e.end = list[0], list[1]
		}
	default:
		return p.s.Skip()
	}
	if err == nil && e.found&bit != 0 {
		err = &jsonmeta.Error{Offset: int64(at), Reason: "the field occurs twice"}
	}
	e.found |= bit
	return err
}

// integers reads an array and appends its elements.
func (p *parser) integers(list []int64) ([]int64, error) {
	err := p.s.Array(func(i int) error {
		if i == maxRank {
			return p.fail("header", p.s.Offset(), format.ErrLimit, "more than %d numbers in an array", maxRank)
		}
		n, err := p.s.Int()
		list = append(list, n)
		return err
	})
	return list, err
}

// check compares range, shape and dtype, and fills in what the dtype is.
func (p *parser) check(t *driver.Tensor, e *entry) error {
	switch {
	case e.begin > e.end:
		return fmt.Errorf("%w: data_offsets [%d, %d]: the end is before the beginning", format.ErrCorrupt, e.begin, e.end)
	case e.end > p.size:
		return fmt.Errorf("%w: data_offsets [%d, %d]: the file has %d bytes of data", format.ErrTruncated, e.begin, e.end, p.size)
	}
	n, err := t.Shape.Elems()
	if err != nil {
		return err
	}
	which := named(e.dtype)
	if which < 0 {
		return p.unknown(t, e, n)
	}
	d := &dtypes[which]
	if _, err := t.Shape.ByteSize(d.whole()); err != nil {
		return err
	}
	// The bits of all elements may need more than 64 bits.
	if n%8*d.bits%8 != 0 {
		return fmt.Errorf("%w: %v %s elements do not fill whole bytes", format.ErrShape, t.Shape, d.name)
	}
	if size := n/8*d.bits + n%8*d.bits/8; t.Size != size {
		return fmt.Errorf("%w: data_offsets [%d, %d]: %s %v takes %d bytes", format.ErrCorrupt, e.begin, e.end, d.name, t.Shape, size)
	}
	if t.DType = d.dtype; d.dtype == tensor.Invalid {
		t.Encoding = d.enc
	}
	return nil
}

// unknown lists elements of a type that the reference does not have: as many bytes as
// the range says.
func (p *parser) unknown(t *driver.Tensor, e *entry, n int64) error {
	if len(e.dtype) == 0 {
		return fmt.Errorf("%w: an empty dtype", format.ErrCorrupt)
	}
	if (n == 0) != (t.Size == 0) {
		return fmt.Errorf("%w: %d elements of the unknown dtype %q in %d bytes", format.ErrCorrupt, n, e.dtype, t.Size)
	}
	t.Encoding = p.encodingOf(e.dtype)
	return nil
}

// encodingOf describes elements that are no DType, tensors in a row with one description.
func (p *parser) encodingOf(name []byte) *tensor.Encoding {
	if e := p.encoding; e == nil || e.Name != string(name) {
		p.encoding = &tensor.Encoding{Name: string(name)}
	}
	return p.encoding
}

// covered checks that the tensors cover the buffer.
func (p *parser) covered() error {
	if !p.sorted {
		if err := p.inOrder(); err != nil {
			return err
		}
	}
	if p.next != p.size {
		return wire.Errorf(formatName, "data", p.start+p.next, format.ErrCorrupt, "no tensor has the last %d bytes", p.size-p.next)
	}
	return nil
}

// inOrder checks tensors that the header lists in another order than their data.
func (p *parser) inOrder() error {
	order := make([]int32, p.x.Len())
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		_, aOff, aSize := p.x.Place(int(a))
		_, bOff, bSize := p.x.Place(int(b))
		return cmp.Or(cmp.Compare(aOff, bOff), cmp.Compare(aSize, bSize))
	})
	p.next = 0
	for _, i := range order {
		_, off, size := p.x.Place(int(i))
		if begin := off - p.start; begin != p.next {
			what := "overlaps another tensor"
			if begin > p.next {
				what = fmt.Sprintf("%d bytes before it are in no tensor", begin-p.next)
			}
			return wire.Errorf(formatName, tensorField([]byte(p.x.Name(int(i)))), off, format.ErrCorrupt, "data_offsets [%d, %d]: %s", begin, begin+size, what)
		}
		p.next += size
	}
	return nil
}

// Verify implements driver.Parsed: headers that changed since they were parsed are
// found. The format has no sums.
func (f *parsed) Verify(v driver.Verification) error {
	v.Section("header", "")
	return v.Each(len(f.texts), func(i int) error {
		t := f.texts[i]
		_, done, err := t.read(f.memory)
		if err == nil {
			done()
		}
		if err == nil && t.sum != f.texts[i].sum {
			err = wire.Errorf(formatName, "header", 0, format.ErrCorrupt, "changed since the file was opened")
		}
		return inFile(err, t.src.Path())
	})
}

// inFile names the file that an error is about, in a copy.
func inFile(err error, path string) error {
	var e *format.Error
	if !errors.As(err, &e) || e.Path != "" {
		return err
	}
	c := *e
	c.Path = path
	return &c
}
