// Package wire reads and writes the little-endian fields of files: a Record reads records of a
// fixed layout field by field, a Buffer is what they are appended to, and a Window reads the parts
// of a file that are structure.
package wire

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// Record reads the records of a file: one function reads the fields of a record in the order of the
// format's table, a statement a field. Record remembers the name and the offset of each field, so
// that Bad and BadField need no offsets. After the first failure all reads return zero and later
// failures are ignored: read all fields, check them, then test Err once. The zero Record is empty.
type Record struct {
	format string
	buf    []byte // ends at pos after a failure, so that no read succeeds
	pos    int
	base   int64 // file offset of buf[0]
	size   int64 // file offset of the end of what can be read
	err    error
	head   Head  // reads more of buf; nil if it is complete
	keep   int64 // file offset of the first byte that the head must keep

	list   string // of the record, "" for none
	item   int64  // number of the record in the list
	start  int64  // file offset of the record
	needed uint64 // bytes that the counts of the record take at least

	count   int64 // records of the list
	typical int64 // size of one

	fields uint // number of fields of the record so far
	read   [mostFields]place
}

// place is where a field was read.
type place struct {
	name string
	at   int64 // file offset, and above placeBits the size of a list's items
}

const (
	mostFields = 32 // whose names and offsets are remembered; a power of 2
	placeBits  = 56
)

// Head is a part of a file, which is read as far as needed: a driver.Head.
type Head interface {
	Need(from, end int64) ([]byte, error) // the bytes of the file from from to end or beyond
	Expect(end int64)                     // hints how far it will be read
}

// Field is a field of a record.
type Field struct {
	Name         string
	Offset, Size int64 // -1 in a table if they vary
}

// NewRecord returns a Record at the beginning of buf, whose first byte is at offset base of a file
// in the named format.
func NewRecord(format string, buf []byte, base int64) Record {
	return Record{format: format, buf: buf, base: base, start: base, size: base + int64(len(buf))}
}

// HeadRecord returns a Record of the part of a file between two offsets, which it reads as far as
// needed. The bytes that it returns are valid until the head is closed, or until Discard.
func HeadRecord(format string, head Head, from, end int64) Record {
	return Record{format: format, head: head, base: from, keep: from, start: from, size: end}
}

// Begin begins a record at the next byte: Bad, BadField, At and Fits do not see earlier fields any
// more.
func (r *Record) Begin() { r.begin("", 0) }

// BeginItem is Begin for record i of a list. Errors name both, as in "node 3 op_type".
func (r *Record) BeginItem(list string, i int64) { r.begin(list, i) }

func (r *Record) begin(list string, i int64) {
	if !memory.Same(r.list, list) {
		r.list = list
	}
	r.item = i
	r.start = r.Offset()
	r.keep = r.base // else the bytes of this record would move when more is read
	r.needed = 0
	r.fields = 0
}

// Records begins each of n records of a list and yields its number. It ends after a failure. A
// record takes about typical bytes: the head reads that much ahead. Errors have the name of the
// list unless it is "".
func (r *Record) Records(list string, n int, typical int64) iter.Seq[int] {
	return func(yield func(int) bool) { r.each(list, n, typical, yield) } // inlined: does not allocate
}

func (r *Record) each(list string, n int, typical int64, yield func(int) bool) {
	r.count = int64(n)
	r.typical = typical
	for i := 0; i < n && r.err == nil; i++ {
		r.begin(list, int64(i))
		if !yield(i) {
			break
		}
	}
	r.typical = 0
}

// note remembers the field that is read next. A pointer is stored only if it changes: while the
// collector marks, each store costs 7 ns.
func (r *Record) note(name string) {
	f := &r.read[r.fields%mostFields]
	if !memory.Same(f.name, name) {
		f.name = name
	}
	f.at = r.Offset()
	r.fields++
}

// U8 reads one byte.
func (r *Record) U8(name string) uint8 {
	r.note(name)
	if r.pos < len(r.buf) || r.more(1) {
		r.pos++
		return r.buf[r.pos-1]
	}
	return 0
}

// U16 reads two bytes.
func (r *Record) U16(name string) uint16 {
	r.note(name)
	if len(r.buf)-r.pos < 2 && !r.more(2) {
		return 0
	}
	b := r.buf[r.pos:]
	r.pos += 2
	return binary.LittleEndian.Uint16(b)
}

// U32 reads four bytes.
func (r *Record) U32(name string) uint32 {
	r.note(name)
	if len(r.buf)-r.pos < 4 && !r.more(4) {
		return 0
	}
	b := r.buf[r.pos:]
	r.pos += 4
	return binary.LittleEndian.Uint32(b)
}

// U64 reads eight bytes.
func (r *Record) U64(name string) uint64 {
	r.note(name)
	if len(r.buf)-r.pos < 8 && !r.more(8) {
		return 0
	}
	b := r.buf[r.pos:]
	r.pos += 8
	return binary.LittleEndian.Uint64(b)
}

// I32 reads a two's complement integer of four bytes.
func (r *Record) I32(name string) int32 { return int32(r.U32(name)) }

// I64 reads a two's complement integer of eight bytes.
func (r *Record) I64(name string) int64 { return int64(r.U64(name)) }

// Bytes returns the next n bytes, which alias the buffer. Any n is safe. After a failure it returns
// no bytes.
func (r *Record) Bytes(name string, n uint64) []byte {
	r.note(name)
	if n > uint64(len(r.buf)-r.pos) && !r.more(n) {
		return nil
	}
	from := r.pos
	r.pos += int(n)
	return r.buf[from:r.pos:r.pos]
}

// Skip reads n bytes that have no meaning here.
func (r *Record) Skip(name string, n uint64) { r.Bytes(name, n) }

// Text reads a text that is always the same, such as a magic. Another one is refused with the
// sentinel.
func (r *Record) Text(name, want string, sentinel error) {
	got := r.Bytes(name, uint64(len(want)))
	if string(got) != want {
		r.Bad(sentinel, "% x instead of %q", got, want)
	}
}

// more makes the next n bytes part of the buffer.
func (r *Record) more(n uint64) bool {
	if r.err != nil {
		return false
	}
	if n > uint64(r.Left()) {
		r.Bad(tensor.ErrTruncated, "needs %d bytes, %d are left", n, r.Left())
		return false
	}
	if r.typical > 0 { // else the caller may have told the head
		r.head.Expect(r.Offset() + r.typical*(r.count-r.item))
	}
	b, err := r.head.Need(r.keep, r.Offset()+int64(n))
	if err != nil {
		r.Fail(r.full(r.last()), r.Offset(), err)
		return false
	}
	r.pos = int(r.Offset() - r.keep)
	r.base = r.keep
	r.buf = b
	return true
}

// Discard says that the bytes up to here are not needed any more, so that a head need not keep them
// in the rest of the record. Bytes of the record that were returned, or will be, are valid until
// the next read, and Window and MoveTo do not know them afterwards.
func (r *Record) Discard() { r.keep = r.Offset() }

// Uint32s is a list of integers of four bytes as they are in the file.
type Uint32s []byte

// Len returns the number of integers.
func (l Uint32s) Len() int { return len(l) / 4 }

// At returns an integer of the list, 0 beyond its end: a list whose reading failed is empty.
func (l Uint32s) At(i int) uint32 {
	if uint(i) >= uint(l.Len()) { // also for a refused number that is negative on 32 bits
		return 0
	}
	return binary.LittleEndian.Uint32(l[4*i:])
}

// Uint64s is a list of integers of eight bytes as they are in the file.
type Uint64s []byte

// Len returns the number of integers.
func (l Uint64s) Len() int { return len(l) / 8 }

// At returns an integer of the list, 0 beyond its end: a list whose reading failed is empty.
func (l Uint64s) At(i int) uint64 {
	if uint(i) >= uint(l.Len()) { // also for a refused number that is negative on 32 bits
		return 0
	}
	return binary.LittleEndian.Uint64(l[8*i:])
}

// Uint32s reads n integers of four bytes without copying them. Any n is safe.
func (r *Record) Uint32s(name string, n uint64) Uint32s { return r.Items(name, n, 4) }

// Uint64s reads n integers of eight bytes without copying them. Any n is safe.
func (r *Record) Uint64s(name string, n uint64) Uint64s { return r.Items(name, n, 8) }

// Items reads n items of size bytes without copying them. Any n is safe; sizes are below 128.
func (r *Record) Items(name string, n, size uint64) []byte {
	hi, total := bits.Mul64(n, size)
	if hi > 0 {
		total = math.MaxUint64
	}
	b := r.Bytes(name, total)
	r.read[(r.fields-1)%mostFields].at |= int64(size) << placeBits
	return b
}

// Fits refuses a count, a field of this record, unless n things of at least size bytes fit in the
// rest of the file, together with those of earlier calls for the record. Check counts with it
// before you allocate.
func (r *Record) Fits(name string, n, size uint64) {
	left := uint64(max(0, r.Left()-int64(r.needed)))
	if n > left/size {
		r.BadField(name, tensor.ErrTruncated, "%d of at least %d bytes each, %d bytes are left for them",
			n, size, left)
		return
	}
	r.needed += n * size
}

// Bad refuses the field that was read last.
func (r *Record) Bad(sentinel error, text string, args ...any) {
	r.BadField(r.last(), sentinel, text, args...)
}

// BadField refuses an earlier field of the record.
func (r *Record) BadField(name string, sentinel error, text string, args ...any) {
	if r.err != nil {
		return
	}
	r.Stop(Errorf(r.format, r.full(name), r.At(name), sentinel, text, args...))
}

// BadItem refuses item i of a list, a field of the record. The items of Bytes are bytes.
func (r *Record) BadItem(name string, i int, sentinel error, text string, args ...any) {
	if r.err != nil {
		return
	}
	at, size := r.place(name)
	r.Stop(Errorf(r.format, r.full(name), at+max(size, 1)*int64(i), sentinel, text, args...))
}

// BadRecord refuses something that is not a field: the offset is that of the record.
func (r *Record) BadRecord(name string, sentinel error, text string, args ...any) {
	if r.err != nil {
		return
	}
	r.Stop(Errorf(r.format, r.full(name), r.start, sentinel, text, args...))
}

// Fail records an error about a field at a file offset. An err that names its field keeps its
// place.
func (r *Record) Fail(name string, offset int64, err error) {
	placed, ok := err.(*tensor.Error)
	if ok && placed.Field != "" {
		r.Stop(placed)
		return
	}
	r.Stop(Error(r.format, name, offset, err))
}

// FailField is Fail for a field of the record.
func (r *Record) FailField(name string, err error) { r.Fail(r.full(name), r.At(name), err) }

// Stop records an error as it is, unless there is one already.
func (r *Record) Stop(err error) {
	if r.err != nil {
		return
	}
	r.err = err
	r.buf = r.buf[:r.pos]
}

// Err returns the first failure.
func (r *Record) Err() error { return r.err }

// Offset returns the file offset of the next byte.
func (r *Record) Offset() int64 { return r.base + int64(r.pos) }

// Left returns the number of unread bytes.
func (r *Record) Left() int64 { return r.size - r.Offset() }

// Continue begins a record in other bytes of the file, which begin at an offset. After a failure it
// does nothing.
func (r *Record) Continue(buf []byte, offset int64) {
	if r.err != nil {
		return
	}
	r.buf = buf
	r.pos = 0
	r.base = offset
	r.size = offset + int64(len(buf))
	r.Begin()
}

// MoveTo begins a record at a file offset that was read before. After a failure it does nothing.
func (r *Record) MoveTo(offset int64) {
	if r.err != nil {
		return
	}
	r.pos = int(offset - r.base)
	r.Begin()
}

// Window returns all bytes between two file offsets that were read before; nil if they were not.
func (r *Record) Window(from, to int64) []byte {
	from -= r.base
	to -= r.base
	if from < 0 || from > to || to > int64(len(r.buf)) {
		return nil
	}
	return r.buf[from:to:to]
}

// At returns the file offset of a field of the record, that of the record if it has no such field.
func (r *Record) At(name string) int64 {
	offset, _ := r.place(name)
	return offset
}

// place returns the offset of a field, and the size of its items if it is a list.
func (r *Record) place(name string) (offset, item int64) {
	for n := range min(r.fields, mostFields) {
		i := (r.fields - 1 - n) % mostFields
		if r.read[i].name == name {
			at := r.read[i].at
			return at & (1<<placeBits - 1), at >> placeBits
		}
	}
	return r.start, 0
}

// last returns the name of the field that was read last.
func (r *Record) last() string {
	if r.fields == 0 {
		return ""
	}
	return r.read[(r.fields-1)%mostFields].name
}

// full returns the name of a field in errors.
func (r *Record) full(name string) string {
	switch {
	case r.list == "":
		return name
	case name == "":
		return fmt.Sprintf("%s %d", r.list, r.item)
	}
	return fmt.Sprintf("%s %d %s", r.list, r.item, name)
}

// Fields returns the fields of the record, the last 32 of them. Offsets are relative to the record.
// It is for tests, which compare them with a table.
func (r *Record) Fields() []Field {
	var list []Field
	end := r.Offset()
	for n := range min(r.fields, mostFields) {
		i := (r.fields - 1 - n) % mostFields
		at := r.read[i].at & (1<<placeBits - 1)
		list = append(list, Field{r.read[i].name, at - r.start, end - at})
		end = at
	}
	slices.Reverse(list)
	return list
}

// CheckSize returns ErrLimit for a size that this platform cannot address.
func CheckSize(n int64) error {
	if !memory.Addressable(n) {
		return fmt.Errorf("%w: %d bytes are more than this platform can address", tensor.ErrLimit, n)
	}
	return nil
}
