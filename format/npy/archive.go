package npy

import (
	"bytes"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
)

// entryBytes is the memory of an entry outside the index.
const entryBytes = 128 + zip.SumBytes

// Parse implements driver.Driver.
func (archiveFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed,
	error) {
	head, err := driver.Prefix(src, int64(len(zip.LocalMagic)))
	if err != nil {
		return nil, err
	}
	s := string(head)
	if s != zip.LocalMagic[:len(s)] && s != zip.EndMagic[:len(s)] {
		return nil, wire.Errorf("", "magic", 0, format.ErrMagic, "% x instead of %q", head,
			zip.LocalMagic)
	}
	a, err := zip.Open(&zip.File{Src: src}, o, entryBytes)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	n := a.Count
	f := newParsed(x, o, n)
	f.Checks = o.CheckSums
	f.Zipped = true
	x.Version = versions[0]
	x.Grow(n, max(0, int(a.Size)-n*zip.CentralLen), 4*n)
	p := &parser{first: a.Head}
	err = a.Each(func(m *zip.Member) error { return f.member(p, m) })
	if err != nil {
		return nil, err
	}
	if n > 0 && len(f.Stores) == 0 {
		return nil, wire.Error("", "entries", a.Off, f.noArrays(n))
	}
	return &driver.Parsed{
		Notes:  f.notes(n),
		Load:   f.Load,
		Stream: f.Streamer(),
		Sums:   f.Sums,
		SumsOf: f.SumsOf,
	}, nil
}

// noArrays describes an archive of n entries without arrays.
func (f *parsed) noArrays(n int) error {
	for _, name := range f.others {
		what := foreign.Entry(name)
		if what != "" {
			return foreign.Error(what, format.ErrMagic)
		}
	}
	return fmt.Errorf("%w: %w: a ZIP archive of %d entries, of which none ends in %s",
		format.ErrUnknownFormat, format.ErrMagic, n, extension)
}

// member adds the tensor of an entry.
func (f *parsed) member(p *parser, m *zip.Member) error {
	name, isArray := bytes.CutSuffix(m.Name, []byte(extension))
	if !isArray {
		if len(f.others) < mostNamed {
			f.others = append(f.others, string(m.Name))
		}
		return nil
	}
	err := m.Usable()
	if err != nil {
		return err
	}
	err = driver.CheckName(name)
	if err != nil {
		return m.Wrap("file name", m.NameAt, err)
	}
	p.entry = m
	err = p.read(m.Size)
	if err != nil {
		return err
	}
	if p.head.other != nil {
		err = f.Memory.Reserve(mostDescr)
		if err != nil {
			return err
		}
	}
	f.Index.Version = max(f.Index.Version, versions[p.head.major-1])
	return m.Wrap("file name", m.NameAt, f.add(&p.head, name, m.Entry))
}

// mostNamed is the maximum number of entries that a note names.
const mostNamed = 5

// notes lists tolerated oddities of an archive of n entries.
func (f *parsed) notes(n int) []string {
	if len(f.others) == 0 {
		return nil
	}
	names := foreign.Names(f.others, n-len(f.Stores))
	return []string{fmt.Sprintf("ignored, not %s entries: %s", extension, names)}
}
