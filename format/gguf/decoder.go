package gguf

import (
	"encoding/binary"
	"iter"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// decoder reads the structure of a file, or metadata that was checked before, sequentially. It
// keeps the first error.
type decoder struct {
	head *driver.Head // reads more; nil if b is complete
	b    []byte
	at   int
	size int64 // of the file
	err  error
}

// whole returns a decoder for bytes in memory.
func whole(b []byte) *decoder { return &decoder{b: b, size: int64(len(b))} }

func (d *decoder) failf(field string, at int, sentinel error, text string, args ...any) {
	if d.err == nil {
		d.err = wire.Errorf(formatName, field, int64(at), sentinel, text, args...)
	}
}

// take returns the next n bytes, valid until more is read.
func (d *decoder) take(field string, n uint64) []byte {
	at := d.at
	if n > uint64(len(d.b)-at) || d.err != nil {
		return d.read(field, n)
	}
	d.at += int(n)
	return d.b[at:d.at]
}

// read is take for bytes that are not in memory yet.
func (d *decoder) read(field string, n uint64) []byte {
	if d.count(field, n, 1); d.err != nil {
		return nil
	}
	b, err := d.head.Need(int64(d.at) + int64(n))
	if d.b = b; err != nil {
		d.err = wire.Error(formatName, field, int64(d.at), err)
	}
	return d.take(field, n)
}

// expect estimates the end of n records that begin at from, of which i were read: it assumes the average size of
// those plus a tenth, but at least least.
func (d *decoder) expect(from int, i, n uint64, least float64) {
	if d.head == nil {
		return
	}
	if i > 0 {
		least = 1.1 * float64(d.at-from) / float64(i)
	}
	d.head.Expect(int64(d.at) + int64(min(float64(n-i)*least, 1<<61)))
}

// count checks that n values of size bytes fit in the rest of the file.
func (d *decoder) count(field string, n uint64, size int) {
	if left := d.size - int64(d.at); n > uint64(left)/uint64(size) {
		d.failf(field, d.at, format.ErrTruncated, "%d of at least %d bytes each, %d bytes are left", n, size, left)
	}
}

// number returns a number of size bytes.
func (d *decoder) number(field string, size uint64) (n uint64) {
	for i, b := range d.take(field, size) {
		n |= uint64(b) << (8 * i)
	}
	return n
}

func (d *decoder) u32(field string) uint32 { return uint32(d.number(field, 4)) }
func (d *decoder) u64(field string) uint64 { return d.number(field, 8) }

// text returns a string, valid until more is read.
func (d *decoder) text(field string) []byte { return d.take(field, d.u64(field)) }

// typ returns a type of values.
func (d *decoder) typ(field string) valueType {
	t := valueType(d.u32(field))
	if t >= numValueTypes {
		d.failf(field, d.at-4, format.ErrUnsupported, "unknown type %d", t)
		return 0
	}
	return t
}

// entry is an entry of the metadata.
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
	e.typ = d.typ("metadata type")
	e.at = d.at
	d.values(e.typ, 1, 0)
	e.key, e.value = d.b[from-key:from], d.b[e.at:d.at:d.at]
	return e
}

// values checks n values of a type, which are in arrays that are nested depth deep.
func (d *decoder) values(t valueType, n uint64, depth int) {
	switch t {
	case typeString:
		d.strings(n)
	case typeArray:
		for ; n > 0 && d.err == nil; n-- {
			if depth == maxDepth {
				d.failf("metadata value", d.at, format.ErrLimit, "arrays are nested more than %d deep", maxDepth)
			}
			elem, count := d.list()
			d.values(elem, count, depth+1)
		}
	case typeBool:
		for i, v := range d.take("metadata value", n) {
			if v > 1 {
				d.failf("metadata value", d.at-int(n)+i, format.ErrCorrupt, "%d is no bool", v)
			}
		}
	default:
		d.count("metadata value", n, valueSizes[t])
		d.take("metadata value", n*uint64(valueSizes[t]))
	}
}

// list reads the header of an array: the type and the number of its elements.
func (d *decoder) list() (elem valueType, n uint64) {
	elem = d.typ("metadata array type")
	n = d.u64("metadata array length")
	d.count("metadata array length", n, valueSizes[elem])
	return elem, n
}

// strings checks n strings. It expects the next ones to be as long as those before.
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

// entries iterates over metadata in memory, up to the first error.
func entries(meta []byte) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for d := whole(meta); d.at < len(meta); {
			if e := d.entry(); d.err != nil || !yield(e) {
				return
			}
		}
	}
}

// record describes a tensor.
type record struct {
	b     []byte
	chars int // of the name
}

// decode reports whether b begins with a record, and finds its end.
func (r *record) decode(b []byte) bool {
	if len(b) < minTensor {
		return false
	}
	chars := binary.LittleEndian.Uint64(b)
	if chars > uint64(len(b)-minTensor) {
		return false
	}
	rank := binary.LittleEndian.Uint32(b[8+chars:])
	if rank > maxRank || uint64(len(b)) < minTensor+chars+8*uint64(rank) {
		return false
	}
	r.b, r.chars = b[:minTensor+int(chars)+8*int(rank)], int(chars)
	return true
}

func (r *record) name() []byte   { return r.b[8 : 8+r.chars : 8+r.chars] }
func (r *record) dims() []byte   { return r.b[12+r.chars : len(r.b)-12] } // 8 bytes each, innermost first
func (r *record) typ() uint32    { return binary.LittleEndian.Uint32(r.b[len(r.b)-12:]) }
func (r *record) offset() uint64 { return binary.LittleEndian.Uint64(r.b[len(r.b)-8:]) } // from where data begins

// record reads the next record field by field, until one is wrong.
func (d *decoder) record() {
	name := d.text("tensor name")
	if err := driver.CheckName(name); d.err == nil && err != nil {
		d.err = wire.Error(formatName, "tensor name", int64(d.at-len(name)), err)
	}
	rank := d.u32("tensor n_dims")
	if rank > maxRank {
		d.failf("tensor n_dims", d.at-4, format.ErrCorrupt, "%d, at most %d are possible", rank, maxRank)
	}
	d.take("tensor dims", 8*uint64(rank))
	if typ := d.u32("tensor type"); typ >= maxCode {
		d.failf("tensor type", d.at-4, format.ErrUnsupported, "%d is no type's number", typ)
	}
	d.u64("tensor offset")
}
