package torch

import (
	"bytes"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
)

// parseArchive reads the ZIP container: NAME/data.pkl, NAME/byteorder, NAME/version, and NAME/data/KEY.
func (r *reading) parseArchive() (any, error) {
	r.x.Version, r.m.Zipped = "zip", true
	a, err := zip.Open(r.File, r.o, storeBytes)
	if err != nil {
		return nil, err
	}
	var pickle *zip.Entry
	err = a.Each(func(m *zip.Member) error {
		e := m.Entry
		_, rest, _ := bytes.Cut(m.Name, []byte("/"))
		name := string(rest)
		if strings.HasPrefix(name, "code/") {
			return wire.Errorf("", "entries", m.Record, format.ErrUnsupported, "entry %q: this is a TorchScript archive, which holds a program: load it with torch.jit.load and save its state_dict", m.Name)
		}
		if err := m.Usable(); err != nil {
			return err
		}
		key, isStore := strings.CutPrefix(name, "data/")
		switch {
		case isStore && key != "":
			if _, twice := r.byKey[key]; twice {
				return wire.Errorf("", "entries", m.Record, format.ErrCorrupt, "storage %.200q occurs twice", key)
			}
			r.addStore(key, e)
		case name == "data.pkl":
			if pickle != nil {
				return m.Errorf("file name", m.Record, format.ErrCorrupt, "there is another one")
			}
			pickle = &e
		case name == "version" || name == "byteorder":
			return r.word(name, &e)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case pickle == nil:
		return nil, wire.Errorf("", "entries", a.Off, format.ErrMagic, "a ZIP archive of %d entries, none of which is NAME/data.pkl", a.Count)
	}
	return r.readPickle(pickle)
}

// word reads an entry that holds a single word.
func (r *reading) word(name string, e *zip.Entry) error {
	if e.Size > 64 || e.Packed {
		return wire.Errorf("", name, e.At, format.ErrUnsupported, "%d bytes, or packed: it is a word", e.Size)
	}
	b, err := r.Src.Slice(e.At, e.Size)
	if err != nil {
		return err
	}
	text := string(bytes.TrimSpace(b))
	if name == "version" {
		r.x.Version = text
	} else if r.big = text == "big"; !r.big && text != "little" {
		return wire.Errorf("", "byteorder", e.At, format.ErrUnsupported, "%q is neither little nor big", text)
	}
	return nil
}

// readPickle reads data.pkl and returns its object.
func (r *reading) readPickle(e *zip.Entry) (any, error) {
	if most := int64(driver.MaxStructure); e.Size > most {
		return nil, wire.Errorf("", "data.pkl", e.At, format.ErrLimit, "it has %d bytes, at most %d are allowed", e.Size, most)
	}
	if err := r.o.Memory.Reserve(e.Size); err != nil {
		return nil, wire.Error("", "data.pkl", e.At, err)
	}
	defer r.o.Memory.Release(e.Size)
	b, err := e.Content()
	if err != nil {
		return nil, wire.Error("", "data.pkl", e.At, err)
	}
	r.object = e.At
	r.pickle = newPickle(wire.NewCursor("", b, e.At), r.o.Memory)
	v := r.next()
	if n := r.c.Left(); n > 0 {
		r.c.Failf("data.pkl", r.c.Offset(), format.ErrCorrupt, "%d bytes follow the pickle", n)
	}
	return v, r.c.Err()
}
