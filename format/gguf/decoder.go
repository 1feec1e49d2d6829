package gguf

import (
	"encoding/binary"
	"iter"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// decoder reads the structure of a file, or metadata that was checked before, from front to back.
// The first error stays.
type decoder struct {
	head *driver.Head // reads on; nil when b is all there is
	b    []byte
	at   int
	size int64 // of the file
	most int64 // bytes of structure
	err  error
}

// whole returns a decoder of bytes that are all in memory.
func whole(b []byte) *decoder { return &decoder{b: b, size: int64(len(b)), most: math.MaxInt64} }

func (d *decoder) failf(field string, at int, sentinel error, text string, args ...any) {
	if d.err == nil {
		d.err = wire.Errorf(formatName, field, int64(at), sentinel, text, args...)
	}
}

// take returns the next n bytes, valid until more is read.
func (d *decoder) take(field string, n uint64) []byte {
	if n > uint64(len(d.b)-d.at) {
		d.read(field, n)
	}
	if d.err != nil {
		return nil
	}
	d.at += int(n)
	return d.b[d.at-int(n) : d.at : d.at]
}

// read makes sure that the next n bytes are in memory.
func (d *decoder) read(field string, n uint64) {
	left := d.size - int64(d.at)
	if n > uint64(left) {
		d.failf(field, d.at, format.ErrTruncated, "needs %d bytes, %d are left", n, left)
	}
	if int64(d.at)+int64(n) > d.most {
		d.failf(field, d.at, format.ErrLimit, "the structure of the file is larger than %d bytes", d.most)
	}
	if d.err != nil {
		return
	}
	b, err := d.head.Need(int64(d.at) + int64(n))
	if d.b = b; err != nil {
		d.err = wire.Error(formatName, field, int64(d.at), err)
	}
}

// expect guesses where n records end of which i were read that begin at from: the others take as much each, and
// a tenth more, or at least as much as any.
func (d *decoder) expect(from int, i, n uint64, least float64) {
	if d.head == nil {
		return
	}
	if i > 0 {
		least = 1.1 * float64(d.at-from) / float64(i)
	}
	d.head.Expect(int64(d.at) + int64(min(float64(n-i)*least, 1<<61)))
}

// count checks that n records of at least size bytes fit in what is left.
func (d *decoder) count(field string, n uint64, size int) {
	if left := d.size - int64(d.at); n > uint64(left)/uint64(size) {
		d.failf(field, d.at, format.ErrTruncated, "%d records of at least %d bytes, %d bytes are left", n, size, left)
	}
}

func (d *decoder) u32(field string) uint32 {
	b := d.take(field, 4)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

func (d *decoder) u64(field string) uint64 {
	b := d.take(field, 8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// text returns a string, valid until more is read.
func (d *decoder) text(field string) []byte { return d.take(field, d.u64(field)) }

// entry is one of the metadata.
type entry struct {
	key   []byte
	typ   valueType
	value []byte
	at    int // of the value
}

// entry reads and checks the next entry, which is valid until more is read.
func (d *decoder) entry() (e entry) {
	key := len(d.text("metadata key"))
	from := d.at
	if d.err != nil {
		return e
	}
	e.typ = valueType(d.u32("metadata type"))
	e.at = d.at
	if e.typ >= numValueTypes {
		d.failf("metadata type", from, format.ErrUnsupported, "unknown type %d", e.typ)
	} else if d.err == nil {
		d.value(e.typ, 0)
	}
	e.key = d.b[from-key : from]
	if d.err != nil {
		d.err = ofEntry(d.err, e.key)
		return e
	}
	e.value = d.b[e.at:d.at:d.at]
	return e
}

// value checks the value that comes next.
func (d *decoder) value(t valueType, depth int) {
	switch t {
	case typeString:
		d.text("metadata value")
	case typeArray:
		d.array(depth + 1)
	default:
		d.scalars(t, 1)
	}
}

// scalars checks n values of a fixed size.
func (d *decoder) scalars(t valueType, n uint64) {
	d.count("metadata value", n, valueSizes[t])
	if d.err != nil {
		return
	}
	b := d.take("metadata value", n*uint64(valueSizes[t]))
	if t != typeBool {
		return
	}
	for i, v := range b {
		if v > 1 {
			d.failf("metadata value", d.at-len(b)+i, format.ErrCorrupt, "%d is no bool", v)
		}
	}
}

// list reads what an array begins with: the type of its elements and their number.
func (d *decoder) list() (elem valueType, n uint64) {
	at := d.at
	elem = valueType(d.u32("metadata array type"))
	if elem >= numValueTypes {
		d.failf("metadata array type", at, format.ErrUnsupported, "unknown type %d", elem)
		return 0, 0
	}
	n = d.u64("metadata array length")
	d.count("metadata array length", n, valueSizes[elem])
	return elem, n
}

func (d *decoder) array(depth int) {
	if depth > maxDepth {
		d.failf("metadata value", d.at, format.ErrLimit, "arrays are nested more than %d deep", maxDepth)
		return
	}
	elem, n := d.list()
	switch elem {
	case typeString:
		d.strings(n)
	case typeArray:
		for i := uint64(0); i < n && d.err == nil; i++ {
			d.array(depth + 1)
		}
	default:
		d.scalars(elem, n)
	}
}

// strings checks n strings. Those that are not read yet are guessed to be as long as those before.
func (d *decoder) strings(n uint64) {
	from := d.at
	for i := uint64(0); i < n && d.err == nil; i++ {
		if b := d.b[d.at:]; len(b) >= minString {
			if size := binary.LittleEndian.Uint64(b); size <= uint64(len(b)-minString) {
				d.at += minString + int(size)
				continue
			}
		}
		d.expect(from, i, n, minString)
		d.text("metadata value")
	}
	d.expect(d.at, 0, 0, 0)
}

// entries walks metadata that is in memory, until something is wrong with it.
func entries(d *decoder) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for d.at < len(d.b) {
			if e := d.entry(); d.err != nil || !yield(e) {
				return
			}
		}
	}
}

// record describes a tensor.
type record struct {
	name   []byte
	dims   []byte // 8 bytes each, innermost first
	typ    uint32
	offset uint64 // from where data begins
	size   int    // of the record
}

// Where fields are in the record.
func (r *record) dimsAt() int   { return 12 + len(r.name) }
func (r *record) offsetAt() int { return r.size - 8 }

// decode reports whether b begins with a record, and decodes that.
func (r *record) decode(b []byte) bool {
	le := binary.LittleEndian
	if len(b) < minTensor {
		return false
	}
	name := le.Uint64(b)
	if name > uint64(len(b)-minTensor) {
		return false
	}
	end := 8 + int(name)
	r.name = b[8:end:end]
	rank := le.Uint32(b[end:])
	r.size = minTensor + int(name) + 8*int(rank)
	if rank > maxRank || r.size > len(b) {
		return false
	}
	b = b[end+4 : r.size]
	r.dims, b = b[:8*rank], b[8*rank:]
	r.typ, r.offset = le.Uint32(b), le.Uint64(b[4:])
	return true
}

// record reads the next record field by field, until one is wrong.
func (d *decoder) record() {
	name := d.text("tensor name")
	if d.err != nil {
		return
	}
	if err := driver.CheckName(name); err != nil {
		d.err = wire.Error(formatName, "tensor name", int64(d.at-len(name)), err)
	}
	if rank := d.u32("tensor n_dims"); rank > maxRank {
		d.failf("tensor n_dims", d.at-4, format.ErrCorrupt, "%d, at most %d are possible", rank, maxRank)
	} else {
		d.take("tensor dims", 8*uint64(rank))
	}
	if typ := d.u32("tensor type"); typ >= maxCode {
		d.failf("tensor type", d.at-4, format.ErrUnsupported, "%d is no type's number", typ)
	}
	d.u64("tensor offset")
}
