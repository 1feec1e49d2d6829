package torch

import (
	"fmt"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// The entries of a model besides its storages.
const (
	pickleName    = "data.pkl"
	byteorderName = "byteorder"
	versionName   = "version"
)

// container has the entries of the model in an archive.
type container struct {
	dir                        string // their NAME
	pickle, byteorder, version *zip.Member
	others                     int    // entries that are not of the model, except directories
	firstOther                 string // name of the first one
}

// memberBytes is the approximate size of a zip.Member.
const memberBytes = 160

// parseArchive reads the ZIP container: NAME/data.pkl, NAME/byteorder, NAME/version, and NAME/data/KEY.
func (r *reading) parseArchive() (any, error) {
	r.x.Version, r.m.Zipped = "zip", true
	a, err := zip.Open(r.File, r.o, storeBytes)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	held := memberBytes * int64(a.Count)
	if err := r.o.Memory.Reserve(held); err != nil {
		return nil, wire.Error("", "directory", a.Off, err)
	}
	defer r.o.Memory.Release(held)
	members := make([]zip.Member, 0, a.Count)
	err = a.Each(func(m *zip.Member) error {
		members = append(members, *m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c := &container{}
	if err := c.choose(members, a.Off); err != nil {
		return nil, err
	}
	for i := range members {
		if err := r.addMember(c, &members[i]); err != nil {
			return nil, err
		}
	}
	if c.others > 0 {
		r.notes = append(r.notes, fmt.Sprintf("entries outside %.200q are not of the model: %d, the first is %.200q", c.dir, c.others, c.firstOther))
	}
	if err := r.readWords(c); err != nil {
		return nil, err
	}
	return r.readPickle(c.pickle)
}

// choose sets the NAME of the model. As in PyTorch, it is that of the first entry; but if this one has no pickle, it is
// that of the only pickle. The directory begins at offset at.
func (c *container) choose(members []zip.Member, at int64) error {
	first, found := "", 0
	for i := range members {
		dir, file, _ := strings.Cut(string(members[i].Name), "/")
		if i == 0 {
			first = dir
		}
		if file != pickleName || found > 0 && dir == c.dir {
			continue
		}
		if found == 0 || dir == first {
			c.dir = dir
		}
		found++
	}
	switch {
	case found == 0:
		return wire.Errorf("", "entries", at, format.ErrMagic, "a ZIP archive of %d entries, none of which is NAME/%s", len(members), pickleName)
	case found > 1 && c.dir != first:
		return wire.Errorf("", "entries", at, format.ErrCorrupt, "%d pickles of different names, none of which is that of the first entry, %.200q", found, first)
	}
	return nil
}

// addMember adds an entry of the model. Its words and storages must occur once.
func (r *reading) addMember(c *container, m *zip.Member) error {
	dir, name, _ := strings.Cut(string(m.Name), "/")
	if strings.HasSuffix(string(m.Name), "/") {
		return nil
	}
	if dir != c.dir {
		if c.others == 0 {
			c.firstOther = string(m.Name)
		}
		c.others++
		return nil
	}
	if strings.HasPrefix(name, "code/") {
		return wire.Errorf("", "entries", m.Record, format.ErrUnsupported, "entry %q: this is a TorchScript archive, which holds a program: load it with torch.jit.load and save its state_dict", m.Name)
	}
	switch name {
	case pickleName:
		return c.set(&c.pickle, m)
	case byteorderName:
		return c.set(&c.byteorder, m)
	case versionName:
		return c.set(&c.version, m)
	}
	key, isStore := strings.CutPrefix(name, "data/")
	if !isStore {
		return nil
	}
	if _, twice := r.byKey[key]; twice {
		return wire.Errorf("", "entries", m.Record, format.ErrCorrupt, "storage %.200q occurs twice", key)
	}
	if err := m.Usable(); err != nil {
		return err
	}
	r.addStore(key, m.Entry)
	return nil
}

// set sets one of the entries that occur once.
func (c *container) set(to **zip.Member, m *zip.Member) error {
	if *to != nil {
		return m.Errorf("file name", m.Record, format.ErrCorrupt, "there is another one")
	}
	*to = m
	return m.Usable()
}

// readWords reads the entries that hold a single word.
func (r *reading) readWords(c *container) error {
	if c.version != nil {
		text, err := r.word(versionName, c.version)
		if err != nil {
			return err
		}
		r.x.Version = text
	}
	if c.byteorder == nil {
		return nil
	}
	text, err := r.word(byteorderName, c.byteorder)
	if err != nil {
		return err
	}
	r.big = text == "big"
	if !r.big && text != "little" {
		return wire.Errorf("", byteorderName, c.byteorder.At, format.ErrUnsupported, "%q is neither little nor big", text)
	}
	return nil
}

// longestWord is the largest size of an entry that holds a single word.
const longestWord = 64

func (r *reading) word(field string, m *zip.Member) (string, error) {
	if m.Size > longestWord {
		return "", wire.Errorf("", field, m.At, format.ErrUnsupported, "%d bytes: it is a word", m.Size)
	}
	b, err := r.content(field, m)
	r.o.Memory.Release(int64(len(b)))
	return strings.TrimSpace(string(b)), err
}

// content returns the content of an entry that is structure, and compares its checksum. It is reserved in Options.Memory.
func (r *reading) content(field string, m *zip.Member) ([]byte, error) {
	e := m.Entry
	b, err := e.Structure(driver.MaxStructure, r.o.Memory)
	if err == nil && r.o.Check.Sums() {
		err = e.Compare(tensor.CRC32(b))
	}
	if err != nil {
		return nil, wire.Error("", field, e.At, err)
	}
	r.m.Words = append(r.m.Words, e)
	return b, nil
}

// readPickle reads data.pkl and returns its object.
func (r *reading) readPickle(m *zip.Member) (any, error) {
	b, err := r.content(pickleName, m)
	if err != nil {
		return nil, err
	}
	defer r.o.Memory.Release(m.Size)
	r.object = m.At
	r.pickle = newPickle(wire.NewCursor("", b, m.At), r.o.Memory)
	r.pickle.stored = min(m.Size, 16*m.Stored)
	v := r.next()
	if n := r.c.Left(); n > 0 {
		r.c.Failf(pickleName, r.c.Offset(), format.ErrCorrupt, "%d bytes follow the pickle", n)
	}
	return v, r.c.Err()
}
