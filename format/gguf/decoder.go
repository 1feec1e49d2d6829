package gguf

import (
	"fmt"
	"iter"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// decoder reads the structure of a file, or metadata that was checked before, sequentially. It
// keeps the first error.
type decoder struct {
	r    wire.Record
	head *driver.Head // nil if everything is in memory
	from int64        // where the value of the current entry begins
}

// whole returns a decoder for bytes in memory.
func whole(b []byte) *decoder { return &decoder{r: wire.NewRecord(formatName, b, 0)} }

// expect estimates the end of n records that begin at from, of which i were read: it assumes the
// average size of those plus a tenth, but at least least.
func (d *decoder) expect(from int64, i, n uint64, least float64) {
	if d.head == nil || i%16 != 0 {
		return
	}
	if i > 0 {
		least = 1.1 * float64(d.r.Offset()-from) / float64(i)
	}
	d.head.Expect(d.r.Offset() + int64(min(float64(n-i)*least, 1<<61)))
}

// text returns a string.
func (d *decoder) text(field string) []byte {
	n := d.r.U64(field)
	return d.r.Bytes(field, n)
}

// typ returns a type of values.
func (d *decoder) typ(field string) valueType {
	t := valueType(d.r.U32(field))
	if t >= numValueTypes {
		d.r.Bad(format.ErrUnsupported, "unknown type %d", t)
		return 0
	}
	return t
}

// entry is an entry of the metadata.
type entry struct {
	key      string
	typ      valueType
	value    []byte // nil for a large one that is not in memory
	at, size int64  // of the value
}

// entry reads and checks the next entry.
func (d *decoder) entry() (e entry) {
	d.r.Begin()
	e.key = string(d.text("metadata key"))
	e.typ = d.typ("metadata type")
	e.at = d.r.Offset()
	d.from = e.at
	d.values(e.typ, 1, 0)
	e.size = d.r.Offset() - e.at
	e.value = d.r.Window(e.at, e.at+e.size)
	return e
}

// field is the field of errors about values.
const field = "metadata value"

// values checks n values of a type, which are in arrays that are nested depth deep.
func (d *decoder) values(t valueType, n uint64, depth int) {
	r := &d.r
	for n > 0 && r.Err() == nil {
		step := uint64(1)
		switch t {
		case typeString:
			d.text(field)
		case typeArray:
			if depth == maxDepth {
				err := fmt.Errorf("%w: arrays are nested more than %d deep", format.ErrLimit, maxDepth)
				r.Fail(field, r.Offset(), err)
			}
			elem, count := d.list()
			d.values(elem, count, depth+1)
		default:
			step = min(n, itemsStep)
			b := r.Items(field, step, valueSizes[t])
			if t == typeBool {
				d.checkBools(b)
			}
		}
		n -= step
		if r.Offset()-d.from > mostKept {
			r.Discard()
		}
	}
}

// itemsStep is the number of items of an array that are read at once.
const itemsStep = 1 << 10

// checkBools checks the items that were just read.
func (d *decoder) checkBools(b []byte) {
	for i, v := range b {
		if v > 1 {
			d.r.BadItem(field, i, format.ErrCorrupt, "%d is no bool", v)
		}
	}
}

// list reads the header of an array: the type and the number of its elements.
func (d *decoder) list() (elem valueType, n uint64) {
	elem = d.typ("metadata array type")
	n = d.r.U64("metadata array length")
	if n > uint64(d.r.Left())/valueSizes[elem] {
		d.r.Bad(format.ErrTruncated, "%d elements of at least %d bytes, %d bytes are left", n,
			valueSizes[elem], d.r.Left())
		return elem, 0
	}
	return elem, n
}

// entries iterates over metadata in memory, up to the first error.
func entries(meta []byte) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		d := whole(meta)
		for d.r.Left() > 0 {
			e := d.entry()
			if d.r.Err() != nil || !yield(e) {
				return
			}
		}
	}
}

// record describes a tensor.
type record struct {
	name   []byte
	dims   wire.Uint64s // innermost first
	typ    uint32
	offset uint64 // from where data begins
}

// record reads the next record of a tensor.
func (d *decoder) record() (t record) {
	r := &d.r
	t.name = d.text("tensor name")
	dims := r.U32("tensor n_dims")
	if dims > maxRank {
		r.Bad(format.ErrCorrupt, "%d, at most %d are possible", dims, maxRank)
	}
	t.dims = r.Uint64s("tensor dims", uint64(dims))
	t.typ = r.U32("tensor type")
	t.offset = r.U64("tensor offset")
	return t
}
