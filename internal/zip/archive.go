package zip

import (
	"cmp"
	"github.com/weightmap/weightmap/tensor"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// Archive is a ZIP archive whose directory was read.
type Archive struct {
	Directory
	src   driver.Source
	o     *driver.Options
	bytes []byte // of the directory
}

// extent is the range of the file that an entry occupies.
type extent struct{ from, to, record int64 }

// Open reads the directory of an archive. It reserves kept bytes for each entry in Options.Memory, and the size of
// the directory until Each returns; the caller must call Each.
func Open(src driver.Source, o *driver.Options, kept int64) (*Archive, error) {
	d, err := FindDirectory(src)
	switch {
	case err != nil:
		return nil, err
	case d.Count > uint64(driver.MaxTensors):
		return nil, wire.Errorf("", "entries", d.Off, tensor.ErrLimit, "%d entries, at most %d are allowed", d.Count, driver.MaxTensors)
	case d.Size > driver.MaxStructure:
		return nil, wire.Errorf("", "directory", d.Off, tensor.ErrLimit, "it has %d bytes, at most %d are allowed", d.Size, driver.MaxStructure)
	}
	if err := o.Memory.Reserve(d.Size + kept*int64(d.Count)); err != nil {
		return nil, wire.Error("", "directory", d.Off, err)
	}
	b, err := src.Slice(d.Off, d.Size)
	if err != nil {
		o.Memory.Release(d.Size)
		return nil, err
	}
	return &Archive{Directory: d, src: src, o: o, bytes: b}, nil
}

// Each calls f for all entries in the order of the directory, with s at the data of the entry. It rejects
// overlapping entries, which would let a small archive inflate to a huge size.
func (a *Archive) Each(f func(s *Stream, m *Member, e Entry) error) error {
	defer a.o.Memory.Release(a.Size)
	c := wire.NewCursor("", a.bytes, a.Off)
	s, extents := NewStream(512), make([]extent, 0, a.Count)
	var h heads
	h.Open(a.src)
	defer h.Close()
	var buf []byte
	var m Member // reused, since f makes it escape
	for range a.Count {
		err := a.o.Context.Err()
		if err == nil {
			m, err = ReadMember(&c)
		}
		if err != nil {
			return err
		}
		e, end, err := readLocal(s, &h, a.src, &m, a.Off, &buf)
		if err == nil {
			extents = append(extents, extent{int64(m.Local), end, m.At})
			err = f(s, &m, e)
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
