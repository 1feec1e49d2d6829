package torch

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
)

// record is an entry of the archive that means something: NAME/data.pkl, NAME/byteorder,
// NAME/version, or NAME/data/KEY.
type record struct {
	name string // without NAME/
	zip.Entry
	record, from, to int64 // of the directory's record, and all that the entry takes in the file
}

// parseArchive reads the ZIP container.
func (f *parsed) parseArchive(o *driver.Options) error {
	dir, err := zip.FindDirectory(f.src)
	if err != nil {
		return err
	}
	if dir.Size > o.MaxHeaderBytes {
		return wire.Errorf("", "directory", dir.Off, format.ErrLimit, "it has %d bytes, at most %d are allowed", dir.Size, o.MaxHeaderBytes)
	}
	f.index.Version = "zip"
	if err := o.Memory.Reserve(dir.Size + int64(dir.Count)*storeBytes); err != nil {
		return wire.Error("", "directory", dir.Off, err)
	}
	defer o.Memory.Release(dir.Size)
	b, err := driver.Private(f.src, dir.Off, dir.Size)
	if err != nil {
		return err
	}
	f.keep(dir.Off, b)
	main, err := f.records(b, dir, o)
	if err != nil {
		return err
	}
	return f.readPickle(main, o)
}

// records reads the directory, fills in the storages, and returns the entry of the pickle.
func (f *parsed) records(b []byte, dir zip.Directory, o *driver.Options) (main *record, err error) {
	c := wire.NewCursor("", b, dir.Off)
	s := zip.NewStream(512)
	all := make([]record, 0, dir.Count)
	var buf []byte
	root := ""
	for range dir.Count {
		if err := o.Context.Err(); err != nil {
			return nil, err
		}
		m, err := zip.ReadMember(&c)
		if err != nil {
			return nil, err
		}
		top, name, _ := bytes.Cut(m.Name, []byte("/"))
		if bytes.HasPrefix(name, []byte("code/")) {
			return nil, wire.Errorf("", "entries", m.At, format.ErrUnsupported, "entry %q: this is a TorchScript archive, which holds a program: load it with torch.jit.load and save its state_dict", m.Name)
		}
		r := record{name: string(name), record: m.At, from: int64(m.Local)}
		if r.Entry, r.to, err = zip.ReadLocal(s, f.src, &m, dir.Off, &buf); err != nil {
			return nil, err
		}
		if err := m.Usable(); err != nil {
			return nil, err
		}
		if r.name == "data.pkl" {
			if main != nil {
				return nil, m.Errorf("file name", m.At, format.ErrCorrupt, "there is another one in %q", root)
			}
			main, root = &r, string(top)
		}
		all = append(all, r)
	}
	switch {
	case c.Left() > 0:
		return nil, wire.Errorf("", "directory", c.Offset(), format.ErrCorrupt, "%d bytes follow its %d entries", c.Left(), dir.Count)
	case main == nil:
		return nil, wire.Errorf("", "entries", dir.Off, format.ErrMagic, "a ZIP archive of %d entries, none of which is NAME/data.pkl", dir.Count)
	}
	return main, f.stored(all)
}

// stored keeps the storages among the records, and reads version and byte order.
func (f *parsed) stored(all []record) error {
	for _, r := range all {
		key, isStore := bytes.CutPrefix([]byte(r.name), []byte("data/"))
		switch {
		case isStore && len(key) > 0:
			if _, twice := f.byKey[string(key)]; twice {
				return wire.Errorf("", "entries", r.record, format.ErrCorrupt, "storage %s occurs twice", clip(string(key)))
			}
			f.byKey[string(key)] = len(f.stores)
			f.stores = append(f.stores, r.Entry)
		case r.name == "version" || r.name == "byteorder":
			text, err := f.short(&r)
			if err != nil {
				return err
			}
			if r.name == "version" {
				f.index.Version = text
			} else if f.big = text == "big"; !f.big && text != "little" {
				return wire.Errorf("", "byteorder", r.At, format.ErrUnsupported, "%q is neither little nor big", text)
			}
		}
	}
	slices.SortFunc(all, func(a, b record) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(all); i++ {
		if a, b := &all[i-1], &all[i]; b.from < a.to {
			return wire.Errorf("", "offset", b.record+42, format.ErrCorrupt, "the entry at %d begins before the one at %d ends, at %d", b.from, a.from, a.to)
		}
	}
	return nil
}

// short reads an entry of a word.
func (f *parsed) short(r *record) (string, error) {
	if r.Size > 64 || r.Packed {
		return "", wire.Errorf("", r.name, r.At, format.ErrUnsupported, "%d bytes, or packed: it is a word", r.Size)
	}
	b, err := driver.Private(f.src, r.At, r.Size)
	if err != nil {
		return "", err
	}
	f.keep(r.At, b)
	return string(bytes.TrimSpace(b)), nil
}

// readPickle reads data.pkl, and lists what its object holds.
func (f *parsed) readPickle(r *record, o *driver.Options) error {
	if r.Size > o.MaxHeaderBytes {
		return wire.Errorf("", "data.pkl", r.At, format.ErrLimit, "it has %d bytes, at most %d are allowed", r.Size, o.MaxHeaderBytes)
	}
	if err := o.Memory.Reserve(r.Size); err != nil {
		return wire.Error("", "data.pkl", r.At, err)
	}
	defer o.Memory.Release(r.Size)
	b, err := r.Content(f.src)
	if err != nil {
		return wire.Error("", "data.pkl", r.At, err)
	}
	if !r.Packed {
		f.keep(r.At, b)
	}
	p := newPickle(b, r.At, o.Memory)
	defer p.release()
	v, err := p.next()
	if err != nil {
		return err
	}
	if n := p.c.Left(); n > 0 {
		return wire.Errorf("", "data.pkl", p.c.Offset(), format.ErrCorrupt, "%d bytes follow the pickle", n)
	}
	return f.list(v, r.At, r.Size)
}
