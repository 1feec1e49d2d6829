package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

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
}

// text is a piece of JSON that was parsed from private memory, and what Verify and
// Metadata need of it.
type text struct {
	src      driver.Source
	off, len int64
	sum      uint64 // of the process, to find out whether the file changed
	metadata []byte // the object with the metadata, nil for none
}

var seed = maphash.MakeSeed()

// buffers hold the headers of mapped files while they are parsed.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const keptBuffer = 1 << 20 // larger ones are not kept

// open reads a text into private memory and hands it to parse, which must not
// keep it.
func (t *text) open(parse func(b []byte) error) error {
	if !t.src.InMemory() {
		b, err := t.src.Slice(t.off, t.len)
		if err != nil {
			return err
		}
		t.sum = maphash.Bytes(seed, b)
		return parse(b)
	}
	keep := buffers.Get().(*[]byte)
	b := slices.Grow((*keep)[:0], int(t.len))[:t.len]
	if t.len <= keptBuffer {
		*keep = b
	}
	defer buffers.Put(keep)
	if _, err := t.src.ReadAt(b, t.off); err != nil {
		return err
	}
	t.sum = maphash.Bytes(seed, b)
	return parse(b)
}

// parseFile reads a file with tensors, which is in a space, into x.
func (f *parsed) parseFile(src driver.Source, space driver.Space, x *driver.Index, o *driver.Options) error {
	head, err := driver.Prefix(src, lengthSize)
	if err != nil {
		return err
	}
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
	t := text{src: src, off: lengthSize, len: int64(n)}
	p := parser{x: x, o: o, space: space, start: lengthSize + int64(n), size: src.Size() - lengthSize - int64(n), sorted: true, text: &t}
	if err := t.open(p.header); err != nil {
		return err
	}
	f.texts = append(f.texts, t)
	return nil
}

// parser reads one header.
type parser struct {
	s     jsonmeta.Scanner
	x     *driver.Index
	o     *driver.Options
	text  *text
	space driver.Space

	start, size int64 // of the buffer behind the header
	next        int64 // in the buffer: where a tensor begins if all are in order
	sorted      bool  // so far they are
	dims        []int64
	encodings   map[encodingKey]*tensor.Encoding
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
	err := uniqueObject(&p.s, func() error {
		_, err := p.s.Text()
		return err
	})
	if err != nil {
		return located(err, metadataKey, lengthSize)
	}
	p.text.metadata = bytes.Clone(b[from:p.s.Offset()])
	return nil
}

// uniqueObject walks an object, refusing keys that occur twice.
func uniqueObject(s *jsonmeta.Scanner, value func() error) error {
	type keyAt struct {
		key []byte
		at  int
	}
	var keys []keyAt
	if err := s.Object(func(key []byte, at int) error {
		keys = append(keys, keyAt{key, at})
		return value()
	}); err != nil {
		return err
	}
	slices.SortStableFunc(keys, func(a, b keyAt) int { return bytes.Compare(a.key, b.key) })
	for i := 1; i < len(keys); i++ {
		if bytes.Equal(keys[i-1].key, keys[i].key) {
			return &jsonmeta.Error{Offset: int64(keys[i].at), Reason: "a key occurs twice"}
		}
	}
	return nil
}

// entry is what the header says of a tensor.
type entry struct {
	dtype []byte
	begin int64
	end   int64
	found uint8 // of the three fields
}

// The fields of an entry.
const (
	dtypeField = iota
	shapeField
	offsetsField
)

var fields = [...]string{dtypeField: "dtype", shapeField: "shape", offsetsField: "data_offsets"}

// tensor reads the entry of a tensor and lists it.
func (p *parser) tensor(name []byte, at int) error {
	var e entry
	err := p.s.Object(func(key []byte, at int) error { return p.field(&e, key, at) })
	if err != nil {
		return located(err, tensorField(name), lengthSize)
	}
	for i, field := range fields {
		if e.found>>i&1 == 0 {
			return p.fail(tensorField(name), at, format.ErrCorrupt, "%s is missing", field)
		}
	}
	if p.x.Len() >= p.o.MaxTensors {
		return p.fail(tensorField(name), at, format.ErrLimit, "more than %d tensors", p.o.MaxTensors)
	}
	t := driver.Tensor{Name: name, Shape: p.dims, Space: p.space, Offset: p.start + e.begin, Size: e.end - e.begin}
	if err := p.check(&t, &e); err != nil {
		return wire.Error(formatName, tensorField(name), lengthSize+int64(at), err)
	}
	if !p.x.Add(&t) {
		return p.fail(tensorField(name), at, format.ErrCorrupt, "the name occurs twice")
	}
	p.sorted = p.sorted && e.begin == p.next
	p.next = e.end
	return nil
}

func tensorField(name []byte) string { return fmt.Sprintf("tensor %q", name) }

// field reads one field of an entry. Unknown ones are ignored.
func (p *parser) field(e *entry, key []byte, at int) (err error) {
	var which int
	switch string(key) {
	case fields[dtypeField]:
		which = dtypeField
	case fields[shapeField]:
		which = shapeField
	case fields[offsetsField]:
		which = offsetsField
	default:
		return p.s.Skip()
	}
	if e.found>>which&1 != 0 {
		return &jsonmeta.Error{Offset: int64(at), Reason: fields[which] + " occurs twice"}
	}
	e.found |= 1 << which
	switch which {
	case dtypeField:
		e.dtype, err = p.s.Text()
		return err
	case shapeField:
		return p.shape()
	}
	count := 0
	err = p.s.Array(func(i int) error {
		n, err := p.s.Int()
		switch count++; i {
		case 0:
			e.begin = n
		case 1:
			e.end = n
		}
		return err
	})
	if err == nil && count != 2 {
		err = &jsonmeta.Error{Offset: int64(at), Reason: fmt.Sprintf("%d data_offsets instead of 2", count)}
	}
	return err
}

// shape reads dims into memory that is used again.
func (p *parser) shape() error {
	p.dims = p.dims[:0]
	return p.s.Array(func(i int) error {
		n, err := p.s.Int()
		if err == nil && i >= maxRank {
			err = wire.Errorf(formatName, "shape", lengthSize+int64(p.s.Offset()), format.ErrLimit, "more than %d dims", maxRank)
		}
		p.dims = append(p.dims, n)
		return err
	})
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
		t.Encoding = p.encoding(e.dtype, d.fillsRows(t.Shape))
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
	t.Encoding = p.encoding(e.dtype, false)
	return nil
}

// encodingKey tells encodings apart.
type encodingKey struct {
	name   string
	blocks bool
}

// encoding returns the description of elements that are no DType, one for all tensors
// that have it.
func (p *parser) encoding(name []byte, blocks bool) *tensor.Encoding {
	if e := p.encodings[encodingKey{string(name), blocks}]; e != nil {
		return e
	}
	e := &tensor.Encoding{Name: string(name)}
	if blocks {
		e.BlockElems, e.BlockBytes = dtypes[named(name)].block()
	}
	if p.encodings == nil {
		p.encodings = make(map[encodingKey]*tensor.Encoding)
	}
	p.encodings[encodingKey{e.Name, blocks}] = e
	return e
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

// Verify implements driver.Verifier: headers that changed since they were parsed are
// found. The format has no sums.
func (f *parsed) Verify(v driver.Verification) error {
	v.Section("header", "")
	return v.Each(len(f.texts), func(i int) error {
		t := &f.texts[i]
		b, err := t.src.Slice(t.off, t.len)
		if err == nil && maphash.Bytes(seed, b) != t.sum {
			err = wire.Errorf(formatName, "header", t.off, format.ErrCorrupt, "changed since the file was opened")
		}
		if err == nil && t.off == lengthSize {
			err = sameLength(t)
		}
		return inFile(err, t.src.Path())
	})
}

// sameLength looks at the header's length again.
func sameLength(t *text) error {
	b, err := t.src.Slice(0, lengthSize)
	if err == nil && binary.LittleEndian.Uint64(b) != uint64(t.len) {
		err = wire.Errorf(formatName, "header length", 0, format.ErrCorrupt, "changed since the file was opened")
	}
	return err
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
