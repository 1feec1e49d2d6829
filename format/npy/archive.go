package npy

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// archiveFile is an open .npz file.
type archiveFile struct {
	parsed
	dir    zip.Directory
	dirSum uint32   // CRC-32 of the directory when it was read
	others []string // the first entries that are no arrays
	more   int      // of them
	paths  int      // names with the form of paths that lead out of a directory
	memory *driver.Memory
}

// window is how much is read at a time while opening: most headers fit.
const window = 512

// parseArchive reads a .npz file.
func parseArchive(src driver.Source, x *driver.Index, o *driver.Options) (*archiveFile, error) {
	head, err := driver.Prefix(src, int64(len(zip.LocalMagic)))
	if err != nil {
		return nil, err
	}
	if s := string(head); s != zip.LocalMagic[:len(s)] && s != zip.EndMagic[:len(s)] {
		return nil, wire.Errorf("", "magic", 0, format.ErrMagic, "the file begins with % x, not %q", head, zip.LocalMagic)
	}
	f := &archiveFile{parsed: parsed{src: src, index: x, most: min(maxHeader, o.MaxHeaderBytes), checks: o.Check.Sums()}, memory: o.Memory}
	if f.dir, err = zip.FindDirectory(src); err != nil {
		return nil, err
	}
	switch d := f.dir; {
	case d.Count > uint64(o.MaxTensors):
		return nil, wire.Errorf("", "entries", d.Off, format.ErrLimit, "%d entries, at most %d are allowed", d.Count, o.MaxTensors)
	case d.Size > o.MaxHeaderBytes:
		return nil, wire.Errorf("", "directory", d.Off, format.ErrLimit, "it has %d bytes, at most %d are allowed", d.Size, o.MaxHeaderBytes)
	}
	// The directory while it is read, and what is kept of each entry.
	kept := entryBytes * int64(f.dir.Count)
	if err := o.Memory.Reserve(f.dir.Size + kept); err != nil {
		return nil, wire.Error("", "directory", f.dir.Off, err)
	}
	defer o.Memory.Release(f.dir.Size)
	b, err := driver.Private(src, f.dir.Off, f.dir.Size)
	if err != nil {
		return nil, err
	}
	f.dirSum = tensor.CRC32(b)
	return f, f.parse(b, o)
}

// entryBytes is what an entry takes, besides the index.
const entryBytes = 80

// extent is the part of the file that an entry takes.
type extent struct{ from, to, record int64 }

// parse reads the central directory b and all that it leads to.
func (f *archiveFile) parse(b []byte, o *driver.Options) error {
	n := int(f.dir.Count)
	f.index.Grow(n, max(0, len(b)-n*zip.CentralLen), 4*n)
	f.entries = make([]entry, 0, n)
	extents := make([]extent, 0, n)
	s, r := zip.NewStream(window), &reader{most: f.most, buf: make([]byte, 0, window)}
	var buf []byte
	c := wire.NewCursor("", b, f.dir.Off)
	f.index.Version = versions[0]
	for range n {
		if err := o.Context.Err(); err != nil {
			return err
		}
		m, err := zip.ReadMember(&c)
		if err != nil {
			return err
		}
		e, end, err := zip.ReadLocal(s, f.src, &m, f.dir.Off, &buf)
		if err == nil {
			extents = append(extents, extent{int64(m.Local), end, m.At})
			err = f.member(s, r, &m, e)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case c.Left() > 0:
		return wire.Errorf("", "directory", c.Offset(), format.ErrCorrupt, "%d bytes follow its %d entries", c.Left(), n)
	case n > 0 && len(f.entries) == 0:
		return wire.Error("", "entries", f.dir.Off, f.noArrays(n))
	}
	return disjoint(extents)
}

// noArrays says what an archive of n entries is that has no arrays.
func (f *archiveFile) noArrays(n int) error {
	for _, name := range f.others {
		if what := foreign.Entry(name); what != "" {
			return foreign.Error(what, format.ErrMagic)
		}
	}
	return fmt.Errorf("%w: %w: a ZIP archive of %d entries, of which none ends in %s", format.ErrUnknownFormat, format.ErrMagic, n, extension)
}

// disjoint refuses entries that share bytes, which is how archives claim much.
func disjoint(extents []extent) error {
	slices.SortFunc(extents, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(extents); i++ {
		if a, b := extents[i-1], extents[i]; b.from < a.to {
			return wire.Errorf("", "offset", b.record+42, format.ErrCorrupt, "the entry at %d begins before the one at %d ends, at %d", b.from, a.from, a.to)
		}
	}
	return nil
}

// member lists the tensor of an entry, whose data s is at.
func (f *archiveFile) member(s *zip.Stream, r *reader, m *zip.Member, e zip.Entry) error {
	name, isArray := bytes.CutSuffix(m.Name, []byte(extension))
	if !isArray {
		if len(f.others) < mostNamed {
			f.others = append(f.others, string(m.Name))
		} else {
			f.more++
		}
		return nil
	}
	if err := m.Usable(); err != nil {
		return err
	}
	if err := driver.CheckName(name); err != nil {
		return m.Wrap("file name", m.At+zip.CentralLen, err)
	}
	r.entry, r.at, r.solid = m.Name, e.At, !e.Packed
	err := s.Unpack(e.Packed)
	if err == nil {
		err = r.read(s.R, e.Size)
	}
	if err == nil && r.other != nil {
		err = f.memory.Reserve(mostDescr)
	}
	if err != nil {
		return err
	}
	if !f.add(r, name, entry{Entry: e}) {
		return m.Errorf("file name", m.At+zip.CentralLen, format.ErrCorrupt, "it occurs twice")
	}
	f.index.Version = max(f.index.Version, versions[r.major-1])
	if leadsOut(name) {
		f.paths++
	}
	return nil
}

// leadsOut reports whether a name would be a path to somewhere else, if it were one.
func leadsOut(name []byte) bool {
	if name[0] == '/' || name[0] == '\\' || len(name) > 1 && name[1] == ':' {
		return true
	}
	for part := range bytes.FieldsFuncSeq(name, func(c rune) bool { return c == '/' || c == '\\' }) {
		if string(part) == ".." {
			return true
		}
	}
	return false
}

// mostNamed bounds the entries that a note names.
const mostNamed = 5

// notes lists what is tolerable but worth knowing.
func (f *archiveFile) notes() []string {
	var notes []string
	if len(f.others) > 0 {
		text := fmt.Sprintf("ignored, not %s entries: %q", extension, f.others)
		if f.more > 0 {
			text += fmt.Sprintf(" and %d more", f.more)
		}
		notes = append(notes, text)
	}
	if f.paths > 0 {
		notes = append(notes, fmt.Sprintf("%d of the names would be paths out of a directory, if they were taken for paths", f.paths))
	}
	return notes
}

// TensorSum implements driver.Parsed. The file records the sum of an array with its
// header: that of the data alone follows from it and from the header's.
func (f *archiveFile) TensorSum(i int) driver.Sum {
	e := &f.entries[i]
	if f.index.Loaded(i) {
		return driver.Sum{} // loading and Verify check it
	}
	return driver.Sum{Kind: driver.CRC32, Want: uint64(e.Sum ^ tensor.CombineCRC32(e.headSum, 0, e.Size-int64(e.head)))}
}

// Verify implements driver.Parsed: it compares the directory with what was read,
// both sums of every entry, and, when some arrays are packed or not stored as they
// are shown, the sum of every array.
func (f *archiveFile) Verify(v driver.Verification) error {
	sum, err := v.Rehash(driver.CRC32, 0, f.dir.Off, f.dir.Size)
	if err != nil {
		return err
	}
	if uint32(sum) != f.dirSum {
		return wire.Errorf("", "directory", f.dir.Off, format.ErrCorrupt, "changed since the file was opened")
	}
	v.Section("directory", "")
	var which []int
	plain := true
	for i := range f.entries {
		if e := &f.entries[i]; v.Wanted(i) {
			if e.Sum != e.LocalSum {
				return f.located(i, fmt.Errorf("%w: crc32 %08x in the directory, %08x beside the array", format.ErrChecksum, e.Sum, e.LocalSum))
			}
			which = append(which, i)
			plain = plain && !f.index.Loaded(i)
		}
	}
	if plain {
		return nil // the engine checks them, by TensorSum
	}
	for _, i := range which {
		v.Expect(f.entries[i].Size)
	}
	return v.Each(len(which), func(n int) error { return f.located(which[n], f.check(v, which[n])) })
}

// check computes the sum of one array without keeping it.
func (f *archiveFile) check(v driver.Verification, i int) error {
	e, name := &f.entries[i], f.index.Name(i)
	s := zip.Borrow()
	defer s.Release()
	err := s.Walk(f.src, &e.Entry, func(b []byte) error {
		v.Done(int64(len(b)), name)
		return v.Context().Err()
	})
	if err != nil {
		return err
	}
	v.Vouch(i, driver.CRC32.String())
	return e.Compare(s.Sum)
}
