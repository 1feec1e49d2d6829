package zip

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/klauspost/compress/flate"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Archive is a ZIP archive whose directory was read.
type Archive struct {
	Off, Size int64 // of the directory
	Count     int   // number of entries

	src     driver.Source
	o       *driver.Options
	bytes   []byte       // of the directory
	heads   *wire.Window // beginnings of entries; small neighboring entries are read together
	inflate *inflater    // nil before the first compressed entry
	entry   Member       // that Each has reached
	packed  io.SectionReader
	head    []byte // inflated
}

// extent is the range of the file that an entry occupies.
type extent struct{ from, to, record int64 }

// Open reads the directory of an archive. It reserves kept bytes for each entry in Options.Memory, and the size of
// the directory until Each returns; the caller must call Each.
func Open(src driver.Source, o *driver.Options, kept int64) (*Archive, error) {
	a := &Archive{src: src, o: o}
	if err := a.find(); err != nil {
		return nil, err
	}
	if err := o.Memory.Reserve(a.Size + kept*int64(a.Count)); err != nil {
		return nil, wire.Error("", "directory", a.Off, err)
	}
	var err error
	if a.bytes, err = src.Slice(a.Off, a.Size); err != nil {
		o.Memory.Release(a.Size)
		return nil, err
	}
	return a, nil
}

// Each calls f for all entries in the order of the directory. It rejects overlapping entries, which would let a
// small archive inflate to a huge size.
func (a *Archive) Each(f func(m *Member) error) error {
	defer a.o.Memory.Release(a.Size)
	a.heads = wire.Open(a.src)
	defer a.heads.Close()
	c, extents := wire.NewCursor("", a.bytes, a.Off), make([]extent, 0, a.Count)
	m := &a.entry
	for range a.Count {
		if err := a.o.Context.Err(); err != nil {
			return err
		}
		if err := m.read(&c); err != nil {
			return err
		}
		end, err := a.local(m)
		if err == nil {
			extents = append(extents, extent{int64(m.head), end, m.Record})
			err = f(m)
		}
		if err != nil {
			return err
		}
	}
	if c.Left() > 0 {
		return wire.Errorf("", "directory", c.Offset(), tensor.ErrCorrupt, "%d bytes follow its %d entries", c.Left(), a.Count)
	}
	slices.SortFunc(extents, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(extents); i++ {
		if a, b := extents[i-1], extents[i]; b.from < a.to {
			return wire.Errorf("", "offset", b.record+42, tensor.ErrCorrupt, "the entry at %d begins before the one at %d ends, at %d", b.from, a.from, a.to)
		}
	}
	return nil
}

// local reads the local header of m, compares it with the directory, and fills in m.Entry. end is
// the end of the entry. Checksums are not compared until verification.
func (a *Archive) local(m *Member) (end int64, err error) {
	if m.head > uint64(a.Off) || uint64(a.Off)-m.head < localLen {
		return 0, m.Errorf("offset", m.Record+42, tensor.ErrCorrupt, "its header is at %d, the directory at %d", m.head, a.Off)
	}
	at := int64(m.head)
	b, err := a.heads.Peek(at, localLen)
	if err != nil {
		return 0, err
	}
	l := fieldsOf(b[6:])
	switch {
	case string(b[:4]) != LocalMagic:
		return 0, m.Errorf("local header", at, tensor.ErrCorrupt, "it begins with % x", b[:4])
	case (l.flags^m.flags)&(flagEncrypted|flagDescriptor|flagPatched) != 0:
		return 0, m.Errorf("local header", at+6, tensor.ErrCorrupt, "its flags are %#x, in the directory %#x", l.flags, m.flags)
	case l.method != m.method:
		return 0, m.Errorf("local header", at+8, tensor.ErrCorrupt, "its method is %d, in the directory %d", l.method, m.method)
	}
	m.At = at + localLen + l.name + l.extra
	if m.At > a.Off || m.packed > uint64(a.Off-m.At) {
		return 0, m.Errorf("sizes", m.Record+20, tensor.ErrCorrupt, "%d bytes at %d, the directory is at %d", m.packed, m.At, a.Off)
	}
	at += localLen
	if b, err = a.heads.Peek(at, l.name+l.extra); err != nil {
		return 0, err
	}
	if name := b[:l.name]; !bytes.Equal(name, m.Name) {
		return 0, m.Errorf("local header", at, tensor.ErrCorrupt, "its name is %q", name)
	}
	if err := widen(b[l.name:], []*uint64{&l.size, &l.packed}, new(uint64)); err != nil {
		return 0, m.Wrap("local zip64 field", at+l.name, err)
	}
	end = m.At + int64(m.packed)
	late := l.flags&flagDescriptor != 0
	if (l.size != m.size || l.packed != m.packed) && !(late && l.size == 0 && l.packed == 0) {
		return 0, m.Errorf("sizes", int64(m.head)+18, tensor.ErrCorrupt, "%d bytes packed into %d, in the directory %d into %d", l.size, l.packed, m.size, m.packed)
	}
	if late {
		if l.sum, end, err = a.descriptor(m, end); err != nil {
			return 0, err
		}
	}
	m.Stored, m.Size, m.Packed, m.LocalSum = int64(m.packed), int64(m.size), m.method == deflated, l.sum
	return end, nil
}

// descriptor reads the data descriptor at an offset, in any of its forms, and returns its end.
// Writers use it if they do not know checksum and sizes in advance.
func (a *Archive) descriptor(m *Member, at int64) (sum uint32, end int64, err error) {
	b, err := driver.Private(a.src, at, min(24, a.Off-at))
	if err != nil {
		return 0, 0, err
	}
	for _, sign := range []string{descriptorMagic, ""} {
		f, ok := bytes.CutPrefix(b, []byte(sign))
		n := at + int64(len(sign))
		if ok && len(f) >= 20 && le.Uint64(f[4:]) == m.packed && le.Uint64(f[12:]) == m.size {
			return le.Uint32(f), n + 20, nil
		}
		if ok && len(f) >= 12 && uint64(le.Uint32(f[4:])) == m.packed && uint64(le.Uint32(f[8:])) == m.size {
			return le.Uint32(f), n + 12, nil
		}
	}
	return 0, 0, m.Errorf("data descriptor", at, tensor.ErrCorrupt, "none with %d bytes packed into %d follows the data", m.size, m.packed)
}

// Head returns the first n bytes of the content of the entry that Each has reached. They are valid until the next call.
func (a *Archive) Head(n int64) ([]byte, error) {
	e := &a.entry
	if !e.Packed {
		return a.heads.Peek(e.At, n)
	}
	if a.inflate == nil {
		a.inflate = newInflater(512)
	}
	a.packed = *io.NewSectionReader(a, e.At, e.Stored)
	a.head = slices.Grow(a.head[:0], int(n))[:n]
	err := a.inflate.from(&a.packed)
	if err == nil {
		_, err = io.ReadFull(a.inflate, a.head)
	}
	var bad flate.CorruptInputError
	var internal flate.InternalError // some damaged streams cause this
	if errors.As(err, &bad) || errors.As(err, &internal) || err == io.EOF || err == io.ErrUnexpectedEOF {
		err = codec.Corrupt("deflate", err)
	}
	return a.head, err
}

// ReadAt reads the beginnings of entries.
func (a *Archive) ReadAt(p []byte, off int64) (int, error) {
	b, err := a.heads.Peek(off, int64(len(p)))
	return copy(p, b), err
}
