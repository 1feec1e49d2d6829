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
	"github.com/weightmap/weightmap/tensor"
)

// archiveFile is an open .npz file.
type archiveFile struct {
	parsed
	dir    directory
	dirSum uint32   // CRC-32 of the directory when it was read
	others []string // the first entries that are no arrays
	more   int      // of them
	paths  int      // names with the form of paths that lead out of a directory
	memory *driver.Memory
}

var (
	_ driver.Loader    = (*archiveFile)(nil)
	_ driver.NotesFile = (*archiveFile)(nil)
	_ driver.Summer    = (*archiveFile)(nil)
	_ driver.Verifier  = (*archiveFile)(nil)
)

// window is how much is read at a time while opening: most headers fit.
const window = 512

// parseArchive reads a .npz file.
func parseArchive(src driver.Source, x *driver.Index, o *driver.Options) (*archiveFile, error) {
	head, err := driver.Prefix(src, int64(len(localMagic)))
	if err != nil {
		return nil, err
	}
	if s := string(head); s != localMagic[:len(s)] && s != endMagic[:len(s)] {
		return nil, wire.Errorf("", "magic", 0, format.ErrMagic, "the file begins with % x, not %q", head, localMagic)
	}
	f := &archiveFile{parsed: parsed{src: src, index: x, most: min(maxHeader, o.MaxHeaderBytes), checks: o.Check.Sums()}, memory: o.Memory}
	if f.dir, err = findDirectory(src); err != nil {
		return nil, err
	}
	switch d := f.dir; {
	case d.count > uint64(o.MaxTensors):
		return nil, wire.Errorf("", "entries", d.off, format.ErrLimit, "%d entries, at most %d are allowed", d.count, o.MaxTensors)
	case d.size > o.MaxHeaderBytes:
		return nil, wire.Errorf("", "directory", d.off, format.ErrLimit, "it has %d bytes, at most %d are allowed", d.size, o.MaxHeaderBytes)
	}
	// The directory while it is read, and what is kept of each entry.
	kept := entryBytes * int64(f.dir.count)
	if err := o.Memory.Reserve(f.dir.size + kept); err != nil {
		return nil, wire.Error("", "directory", f.dir.off, err)
	}
	defer o.Memory.Release(f.dir.size)
	b, err := driver.Private(src, f.dir.off, f.dir.size)
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
	n := int(f.dir.count)
	f.index.Grow(n, max(0, len(b)-n*centralLen), 4*n)
	f.entries = make([]entry, 0, n)
	extents := make([]extent, 0, n)
	s, r := newStream(window), &reader{most: f.most, buf: make([]byte, 0, window)}
	var buf []byte
	c := wire.NewCursor("", b, f.dir.off)
	f.index.Version = versions[0]
	for range n {
		if err := o.Context.Err(); err != nil {
			return err
		}
		m, err := readMember(&c)
		if err != nil {
			return err
		}
		e, end, err := readLocal(s, f.src, &m, f.dir.off, &buf)
		if err == nil {
			extents = append(extents, extent{int64(m.local), end, m.at})
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
		return wire.Error("", "entries", f.dir.off, f.noArrays(n))
	}
	return disjoint(extents)
}

// noArrays says what an archive of n entries is that has no arrays.
func (f *archiveFile) noArrays(n int) error {
	for _, name := range f.others {
		if what := foreign.Entry(name); what != "" {
			return &foreign.Error{What: what, Err: format.ErrMagic}
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
func (f *archiveFile) member(s *stream, r *reader, m *member, e entry) error {
	name, isArray := bytes.CutSuffix(m.name, []byte(extension))
	if !isArray {
		if len(f.others) < mostNamed {
			f.others = append(f.others, string(m.name))
		} else {
			f.more++
		}
		return nil
	}
	switch {
	case m.flags&(flagEncrypted|flagPatched) != 0:
		return m.errorf("flags", m.at+8, format.ErrUnsupported, "%#x: it is encrypted or patched", m.flags)
	case m.method != stored && m.method != deflated:
		return m.errorf("method", m.at+10, format.ErrUnsupported, "%d, known are 0 (stored) and 8 (deflated)", m.method)
	case m.method == stored && m.size != m.packed, m.size/mostRatio > m.packed: // one beyond 2^63 that passes is shorter than any header
		return m.errorf("sizes", m.at+20, format.ErrCorrupt, "%d bytes cannot hold %d by method %d", m.packed, m.size, m.method)
	}
	if err := driver.CheckName(name); err != nil {
		return m.wrap("file name", m.at+centralLen, err)
	}
	r.entry, r.at, r.solid = m.name, e.at, !e.packed
	err := s.unpack(e.packed)
	if err == nil {
		err = r.read(s.r, e.size)
	}
	if err == nil && r.other != nil {
		err = f.memory.Reserve(mostDescr)
	}
	if err != nil {
		return err
	}
	if !f.add(r, name, e) {
		return m.errorf("file name", m.at+centralLen, format.ErrCorrupt, "it occurs twice")
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

// Notes implements driver.NotesFile.
func (f *archiveFile) Notes() []string {
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

// TensorSum implements driver.Summer. The file records the sum of an array with its
// header: that of the data alone follows from it and from the header's.
func (f *archiveFile) TensorSum(i int) driver.Sum {
	e := &f.entries[i]
	if f.index.Loaded(i) {
		return driver.Sum{} // loading and Verify check it
	}
	return driver.Sum{Kind: driver.CRC32, Want: uint64(e.sum ^ tensor.CombineCRC32(e.headSum, 0, e.size-int64(e.head)))}
}

// Verify implements driver.Verifier: it compares the directory with what was read,
// both sums of every entry, and, when some arrays are packed or not stored as they
// are shown, the sum of every array.
func (f *archiveFile) Verify(v driver.Verification) error {
	sum, err := v.Rehash(driver.CRC32, 0, f.dir.off, f.dir.size)
	if err != nil {
		return err
	}
	if uint32(sum) != f.dirSum {
		return wire.Errorf("", "directory", f.dir.off, format.ErrCorrupt, "changed since the file was opened")
	}
	v.Section("directory", "")
	var which []int
	plain := true
	for i := range f.entries {
		if e := &f.entries[i]; v.Wanted(i) {
			if e.sum != e.localSum {
				return f.located(i, fmt.Errorf("%w: crc32 %08x in the directory, %08x beside the array", format.ErrChecksum, e.sum, e.localSum))
			}
			which = append(which, i)
			plain = plain && !f.index.Loaded(i)
		}
	}
	if plain {
		return nil // the engine checks them, by TensorSum
	}
	for _, i := range which {
		v.Expect(f.entries[i].size)
	}
	return v.Each(len(which), func(n int) error { return f.located(which[n], f.check(v, which[n])) })
}

// check computes the sum of one array without keeping it.
func (f *archiveFile) check(v driver.Verification, i int) error {
	e, name := &f.entries[i], f.index.Name(i)
	s := streams.Get().(*stream)
	defer s.release()
	err := s.walk(f.src, e, func(b []byte) error {
		v.Done(int64(len(b)), name)
		return v.Context().Err()
	})
	if err != nil {
		return err
	}
	v.Vouch(i, driver.CRC32.String())
	return e.compare(s.sum)
}
