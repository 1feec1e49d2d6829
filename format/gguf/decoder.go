package gguf

import (
	"iter"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// decoder reads the structure of a file, or metadata that was checked before, sequentially. It
// keeps the first error.
type decoder struct {
	wire.Cursor
	head *driver.Head // nil if everything is in memory
}

// whole returns a decoder for bytes in memory.
func whole(b []byte) *decoder { return &decoder{Cursor: wire.NewCursor(formatName, b, 0)} }

// expect estimates the end of n records that begin at from, of which i were read: it assumes the average size of
// those plus a tenth, but at least least.
func (d *decoder) expect(from int64, i, n uint64, least float64) {
	if d.head == nil || i%16 != 0 {
		return
	}
	if i > 0 {
		least = 1.1 * float64(d.Offset()-from) / float64(i)
	}
	d.head.Expect(d.Offset() + int64(min(float64(n-i)*least, 1<<61)))
}

// text returns a string, valid until more is read.
func (d *decoder) text(field string) []byte { return d.Bytes(field, d.U64(field)) }

// typ returns a type of values.
func (d *decoder) typ(field string) valueType {
	t := valueType(d.U32(field))
	if t >= numValueTypes {
		d.Failf(field, d.Offset()-4, format.ErrUnsupported, "unknown type %d", t)
		return 0
	}
	return t
}

// entry is an entry of the metadata.
type entry struct {
	key   []byte
	typ   valueType
	value []byte
	at    int64 // of the value
}

// entry reads and checks the next entry, which is valid until more is read.
func (d *decoder) entry() (e entry) {
	key := int64(len(d.text("metadata key")))
	from := d.Offset()
	e.typ = d.typ("metadata type")
	e.at = d.Offset()
	d.values(e.typ, 1, 0)
	e.key, e.value = d.Window(from-key, from), d.Window(e.at, d.Offset())
	return e
}

// values checks n values of a type, which are in arrays that are nested depth deep. It expects the next strings to
// be as long as those before.
func (d *decoder) values(t valueType, n uint64, depth int) {
	const field = "metadata value"
	from := d.Offset()
	switch t {
	case typeString:
		for i := uint64(0); i < n && d.Err() == nil; i++ {
			d.expect(from, i, n, minString)
			d.text(field)
		}
		d.expect(from, 0, 0, 0)
	case typeArray:
		for ; n > 0 && d.Err() == nil; n-- {
			if depth == maxDepth {
				d.Failf(field, d.Offset(), format.ErrLimit, "arrays are nested more than %d deep", maxDepth)
			}
			elem, count := d.list()
			d.values(elem, count, depth+1)
		}
	case typeBool:
		for i, v := range d.Bytes(field, n) {
			if v > 1 {
				d.Failf(field, from+int64(i), format.ErrCorrupt, "%d is no bool", v)
			}
		}
	default:
		d.Count(field, n, valueSizes[t])
		d.Bytes(field, n*valueSizes[t])
	}
}

// list reads the header of an array: the type and the number of its elements.
func (d *decoder) list() (elem valueType, n uint64) {
	elem = d.typ("metadata array type")
	n = d.U64("metadata array length")
	d.Count("metadata array length", n, valueSizes[elem])
	return elem, n
}

// entries iterates over metadata in memory, up to the first error.
func entries(meta []byte) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for d := whole(meta); d.Left() > 0; {
			if e := d.entry(); d.Err() != nil || !yield(e) {
				return
			}
		}
	}
}

// record describes a tensor.
type record struct {
	name, dims []byte // dims have 8 bytes each, innermost first
	typ        uint32
	offset     uint64 // from where data begins
}

// record reads the next record of a tensor, and checks a new one. Its bytes are valid until more is read.
func (d *decoder) record(isNew bool) (r record) {
	r.name = d.text("tensor name")
	if isNew {
		if err := driver.CheckName(r.name); err != nil {
			d.Fail("tensor name", d.Offset()-int64(len(r.name)), err)
		}
	}
	dims := d.U32("tensor n_dims")
	if dims > maxRank {
		d.Failf("tensor n_dims", d.Offset()-4, format.ErrCorrupt, "%d, at most %d are possible", dims, maxRank)
	}
	r.dims = d.Bytes("tensor dims", 8*uint64(dims))
	r.typ = d.U32("tensor type")
	r.offset = d.U64("tensor offset")
	return r
}
