package zip

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/deflate"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Archive is a ZIP archive whose directory was read.
type Archive struct {
	Off, Size int64 // of the directory
	Count     int   // number of entries

	file  *File
	o     *driver.ParseOptions
	err   error        // the first; later values are zero
	dir   wire.Record  // in the directory
	local wire.Record  // the header of the current entry
	entry Member       // that Each has reached
	head  []byte       // inflated
	heads *wire.Window // records at the end, then beginnings of entries, of small ones several at once
}

// fail keeps the first error.
func (a *Archive) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// occupied is the range of the file that an entry occupies, and the offset of the field that says
// where it begins.
type occupied struct{ from, to, fieldAt int64 }

// Open reads the directory of an archive. It reserves kept bytes for each entry in Options.Memory,
// and the size of the directory until Close.
func Open(file *File, o *driver.ParseOptions, kept int64) (*Archive, error) {
	a := &Archive{file: file, o: o}
	a.heads = wire.Open(file.Src)
	a.find()
	if a.err != nil {
		a.heads.Close()
		return nil, a.err
	}
	err := o.Memory.Reserve(a.Size + kept*int64(a.Count))
	if err != nil {
		a.heads.Close()
		return nil, wire.Error("", "directory", a.Off, err)
	}
	b, err := file.Src.Slice(a.Off, a.Size)
	if err != nil {
		a.Close()
		return nil, err
	}
	a.dir = wire.NewRecord("", b, a.Off)
	return a, nil
}

// Close releases the directory. The names of members are not used after it.
func (a *Archive) Close() {
	a.heads.Close()
	a.o.Memory.Release(a.Size)
}

// Each calls f for all entries in the order of the directory. It rejects overlapping entries, which
// would let a small archive inflate to a huge size. The name of a member is valid until Close, the
// member until f returns.
func (a *Archive) Each(f func(m *Member) error) error {
	ranges := make([]occupied, 0, a.Count)
	for range a.Count {
		a.fail(a.o.Context.Err())
		a.next()
		end := a.readLocal()
		if a.err != nil {
			return a.err
		}
		err := f(&a.entry)
		if err != nil {
			a.fail(err)
			return err
		}
		ranges = append(ranges, occupied{int64(a.entry.head), end, a.dir.At("header offset")})
	}
	n := a.dir.Left()
	if n > 0 {
		return wire.Errorf("", "directory", a.dir.Offset(), tensor.ErrCorrupt,
			"%d bytes follow its %d entries", n, a.Count)
	}
	return refuseOverlap(ranges)
}

// refuseOverlap returns an error if one of the ranges, which it sorts, begins inside another.
func refuseOverlap(ranges []occupied) error {
	slices.SortFunc(ranges, func(a, b occupied) int { return cmp.Compare(a.from, b.from) })
	var before occupied
	for _, r := range ranges {
		if r.from < before.to {
			return wire.Errorf("", "offset", r.fieldAt, tensor.ErrCorrupt,
				"the entry at %d begins before the one at %d ends, at %d", r.from, before.from, before.to)
		}
		before = r
	}
	return nil
}

// readLocal reads the local header of the entry, compares it with the directory, and fills in its
// Entry. end is the end of the entry. Checksums are not compared until verification.
func (a *Archive) readLocal() (end int64) {
	m := &a.entry
	f := &m.fields
	if m.head > uint64(a.Off) || uint64(a.Off)-m.head < localLen {
		a.bad("offset", a.dir.At("header offset"), tensor.ErrCorrupt,
			"its header is at %d, the directory at %d", m.head, a.Off)
	}
	at := int64(m.head)
	r := &a.local
	r.Continue(a.bytes(a.heads.Peek, at, localLen), at)
	signature := r.Bytes("local header", 4)
	r.U16("version needed")
	l := readFields(r)
	m.At = r.Offset() + l.name + l.extra
	switch {
	case string(signature) != LocalMagic:
		a.bad("local header", at, tensor.ErrCorrupt, "it begins with % x", signature)
	case (l.flags^f.flags)&(flagEncrypted|flagDescriptor|flagPatched) != 0:
		a.bad("local header", r.At("flags"), tensor.ErrCorrupt,
			"its flags are %#x, in the directory %#x", l.flags, f.flags)
	case l.method != f.method:
		a.bad("local header", r.At("method"), tensor.ErrCorrupt,
			"its method is %d, in the directory %d", l.method, f.method)
	case m.At > a.Off || f.packed > uint64(a.Off-m.At):
		a.bad("sizes", a.dir.At("packed size"), tensor.ErrCorrupt,
			"%d bytes at %d, the directory is at %d", f.packed, m.At, a.Off)
	}
	nameAt := r.Offset()
	b := a.bytes(a.heads.Peek, nameAt, l.name+l.extra)
	name := b[:l.name]
	if !bytes.Equal(name, m.Name) {
		a.bad("local header", nameAt, tensor.ErrCorrupt, "its name is %q", name)
	}
	err := widen(b[l.name:], []*uint64{&l.size, &l.packed}, new(uint64))
	a.fail(m.Wrap("local zip64 field", nameAt+l.name, err))
	end = m.At + int64(f.packed)
	isLate := l.flags&flagDescriptor != 0
	if (l.size != f.size || l.packed != f.packed) && !(isLate && l.size == 0 && l.packed == 0) {
		a.bad("sizes", r.At("packed size"), tensor.ErrCorrupt,
			"%d bytes packed into %d, in the directory %d into %d", l.size, l.packed, f.size, f.packed)
	}
	if isLate {
		l.sum, end = a.descriptor(end)
	}
	m.Stored = int64(f.packed)
	m.Size = int64(f.size)
	m.Packed = f.method == deflated
	m.Sum = f.sum
	m.LocalSum = l.sum
	return end
}

// bad keeps an error about the entry.
func (a *Archive) bad(field string, at int64, sentinel error, text string, args ...any) {
	if a.err == nil { // else a long name is not formatted for nothing
		a.err = a.entry.Errorf(field, at, sentinel, text, args...)
	}
}

// bytes returns n bytes that read returns for an offset, or zeros after an error. They are valid
// until the next call.
func (a *Archive) bytes(read func(off, n int64) ([]byte, error), at, n int64) []byte {
	if a.err != nil {
		return make([]byte, max(0, n))
	}
	b, err := read(at, n)
	if err != nil {
		a.err = err
		return make([]byte, max(0, n))
	}
	return b
}

// descriptor reads the data descriptor at an offset, in any of its forms, and returns its end.
// Writers use it if they do not know checksum and sizes in advance.
func (a *Archive) descriptor(at int64) (sum uint32, end int64) {
	f := &a.entry.fields
	b := a.bytes(a.heads.Bytes, at, min(24, a.Off-at))
	for _, sign := range []string{descriptorMagic, ""} {
		rest, ok := bytes.CutPrefix(b, []byte(sign))
		if !ok {
			continue
		}
		length := f.descriptorLen(rest)
		if length > 0 {
			return le.Uint32(rest), at + int64(len(sign)) + length
		}
	}
	a.bad("data descriptor", at, tensor.ErrCorrupt,
		"none with %d bytes packed into %d follows the data", f.size, f.packed)
	return 0, 0
}

// descriptorLen returns the length of the data descriptor that b begins with, without a signature,
// or 0 if it has other sizes.
func (f *fields) descriptorLen(b []byte) int64 {
	const short = 4 + 4 + 4 // crc-32, packed size, size
	const long = 4 + 8 + 8
	switch {
	case len(b) >= long && le.Uint64(b[4:]) == f.packed && le.Uint64(b[12:]) == f.size:
		return long
	case len(b) < short || uint64(le.Uint32(b[4:])) != f.packed:
		return 0
	case uint64(le.Uint32(b[8:])) != f.size:
		return 0
	}
	return short
}

// Head returns the first n bytes of the content of the entry that Each has reached. They are valid
// until the next call.
func (a *Archive) Head(n int64) ([]byte, error) {
	e := &a.entry
	if !e.Packed {
		return a.heads.Peek(e.At, n)
	}
	a.head = slices.Grow(a.head[:0], int(n))[:n]
	var err error
	for _, most := range [...]int64{512, mostHead} { // of more input it would inflate 32 KiB
		packed := a.bytes(a.heads.Peek, e.At, min(most, e.Stored))
		err = codec.Prefix(a.head, deflate.Codec, packed, a.o.Memory)
		if err == nil {
			return a.head, a.err
		}
	}
	if e.Stored > mostHead && errors.Is(err, io.ErrUnexpectedEOF) {
		a.bad("header", e.At, tensor.ErrLimit, "it is not in the first %d compressed bytes", mostHead)
	}
	a.fail(err)
	return nil, a.err
}

// mostHead is the maximum number of compressed bytes that Head reads. Heads have at most 1 MiB.
const mostHead = 2 << 20
