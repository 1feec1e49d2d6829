package torch

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/pickle"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
)

// The entries of a model besides its storages.
const (
	pickleName    = "data.pkl"
	constantsName = "constants.pkl"
	byteorderName = "byteorder"
	versionName   = "version"
	codeName      = "code"
	dataName      = "data"
	sharedName    = "constants"
)

// scriptNote is the note of a TorchScript archive.
const scriptNote = "this is a TorchScript archive: its tensors are shown, its code is not read"

// container has the entries of the model in an archive.
type container struct {
	dir                                   []byte // their NAME
	pickle, constants, byteorder, version *zip.Member
	code                                  bool   // it is a TorchScript archive
	others                                int    // entries that are not of the model, except directories
	firstOther                            string // name of the first one
	data, shared                          stores // of data.pkl, and of constants.pkl
}

// stores are the storages of a pickle. Their keys are in one text, so that they are few
// allocations.
type stores struct {
	text  []byte
	ends  []int // of each key in text
	index []int // of each storage among those of the model
}

// memberBytes is the approximate size of a zip.Member.
const memberBytes = 160

// parseArchive reads the ZIP container: NAME/data.pkl, NAME/byteorder, NAME/version, and
// NAME/data/KEY. A TorchScript archive has NAME/code/, which is not read, NAME/constants.pkl and
// NAME/constants/KEY as well.
func (p *parser) parseArchive() error {
	p.index.Version = "zip"
	p.tensors.Zipped = true
	a, err := zip.Open(p.file, p.opts, storeBytes)
	if err != nil {
		return err
	}
	defer a.Close()
	held := memberBytes * int64(a.Count)
	if err := p.opts.Memory.Reserve(held); err != nil {
		return wire.Error("", "directory", a.Off, err)
	}
	defer p.opts.Memory.Release(held)
	members := make([]zip.Member, 0, a.Count)
	err = a.Each(func(m *zip.Member) error {
		members = append(members, *m)
		return nil
	})
	if err != nil {
		return err
	}
	c := &container{}
	if err := c.choose(members, a.Off); err != nil {
		return err
	}
	for i := range members {
		if err := p.addMember(c, &members[i]); err != nil {
			return err
		}
	}
	if c.others > 0 {
		p.notes = append(p.notes,
			fmt.Sprintf("entries outside %.200q are not of the model: %d, the first is %.200q", c.dir,
				c.others, c.firstOther))
	}
	return p.readContainer(c, a.Off)
}

// readContainer reads the words and the pickles of an archive, whose directory begins at offset at.
func (p *parser) readContainer(c *container, at int64) error {
	if c.code {
		p.notes = append(p.notes, scriptNote)
	}
	err := p.readWords(c)
	if err != nil {
		return err
	}
	p.keys, err = c.data.byKey(at)
	if err != nil {
		return err
	}
	err = p.readPickle(pickleName, c.pickle, "")
	if err != nil {
		return err
	}
	if c.constants == nil || !c.code {
		return nil
	}
	p.keys, err = c.shared.byKey(at)
	if err != nil {
		return err
	}
	return p.readPickle(constantsName, c.constants, sharedName)
}

// choose sets the NAME of the model. As in PyTorch, it is that of the first entry; but if this one
// has no pickle, it is that of the only pickle. The directory begins at offset at.
func (c *container) choose(members []zip.Member, at int64) error {
	var first []byte
	found := 0
	for i := range members {
		dir, file, _ := bytes.Cut(members[i].Name, []byte("/"))
		if i == 0 {
			first = dir
		}
		if string(file) != pickleName || found > 0 && bytes.Equal(dir, c.dir) {
			continue
		}
		if found == 0 || bytes.Equal(dir, first) {
			c.dir = dir
		}
		found++
	}
	switch {
	case found == 0:
		return c.noPickle(members, at)
	case found > 1 && !bytes.Equal(c.dir, first):
		return wire.Errorf("", "entries", at, format.ErrCorrupt,
			"%d pickles of different names, none of which is that of the first entry, %.200q", found, first)
	}
	return nil
}

// noPickle describes an archive without a pickle.
func (c *container) noPickle(members []zip.Member, at int64) error {
	for i := range members {
		name := string(members[i].Name)
		if path.Base(name) == pickleName {
			return wire.Errorf("", "entries", at, format.ErrUnsupported,
				"%.200q is not NAME/%s: unpack the archive, and open the directory that has %s", name,
				pickleName, pickleName)
		}
		what := foreign.Entry(name)
		if what != "" {
			return wire.Error("", "entries", at, foreign.Error(what, format.ErrMagic))
		}
	}
	return wire.Errorf("", "entries", at, format.ErrMagic,
		"a ZIP archive of %d entries, none of which is NAME/%s", len(members), pickleName)
}

// addMember adds an entry of the model. Its words must occur once.
func (p *parser) addMember(c *container, m *zip.Member) error {
	dir, name, _ := bytes.Cut(m.Name, []byte("/"))
	if bytes.HasSuffix(m.Name, []byte("/")) {
		return nil
	}
	if !bytes.Equal(dir, c.dir) {
		if c.others == 0 {
			c.firstOther = string(m.Name)
		}
		c.others++
		return nil
	}
	switch string(name) {
	case pickleName:
		return c.set(&c.pickle, m)
	case constantsName:
		return c.set(&c.constants, m)
	case byteorderName:
		return c.set(&c.byteorder, m)
	case versionName:
		return c.set(&c.version, m)
	}
	kind, key, _ := bytes.Cut(name, []byte("/"))
	switch string(kind) {
	case codeName:
		c.code = true
	case dataName:
		return p.addKey(&c.data, key, m)
	case sharedName:
		return p.addKey(&c.shared, key, m)
	}
	return nil
}

// addKey adds the storage of an entry.
func (p *parser) addKey(s *stores, key []byte, m *zip.Member) error {
	if err := m.Usable(); err != nil {
		return err
	}
	s.text = append(s.text, key...)
	s.ends = append(s.ends, len(s.text))
	s.index = append(s.index, p.addStore(m.Entry))
	return nil
}

// byKey returns the indexes of the storages. A key must occur once; the directory of the archive
// begins at offset at.
func (s *stores) byKey(at int64) (map[string]int, error) {
	keys := make(map[string]int, len(s.ends))
	text := string(s.text)
	from := 0
	for i, end := range s.ends {
		key := text[from:end]
		_, twice := keys[key]
		if twice {
			return nil, wire.Errorf("", "entries", at, format.ErrCorrupt, "storage %.200q occurs twice", key)
		}
		keys[key] = s.index[i]
		from = end
	}
	return keys, nil
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
func (p *parser) readWords(c *container) error {
	if c.version != nil {
		text, err := p.word(versionName, c.version)
		if err != nil {
			return err
		}
		p.index.Version = text
	}
	if c.byteorder == nil {
		return nil
	}
	text, err := p.word(byteorderName, c.byteorder)
	if err != nil {
		return err
	}
	return p.setOrder(text, c.byteorder.At)
}

// setOrder sets the order of bytes to what the word at an offset says.
func (p *parser) setOrder(text string, at int64) error {
	p.big = text == "big"
	if !p.big && text != "little" {
		return wire.Errorf("", byteorderName, at, format.ErrUnsupported, "%q is neither little nor big",
			text)
	}
	return nil
}

// longestWord is the largest size of an entry that holds a single word.
const longestWord = 64

func (p *parser) word(field string, m *zip.Member) (string, error) {
	if m.Size > longestWord {
		return "", notWord(field, m.At, m.Size)
	}
	b, err := p.content(field, m)
	p.opts.Memory.Release(int64(len(b)))
	return strings.TrimSpace(string(b)), err
}

// notWord is the error for a content of size bytes that should be a word.
func notWord(field string, at, size int64) error {
	return wire.Errorf("", field, at, format.ErrUnsupported, "%d bytes: it is a word", size)
}

// content returns the content of an entry that is structure, and compares its checksum. It is
// reserved in Options.Memory.
func (p *parser) content(name string, m *zip.Member) ([]byte, error) {
	w := zip.Word{Entry: m.Entry, Name: name}
	b, err := w.Structure(driver.MaxStructure, p.opts.Memory)
	if err != nil {
		return nil, wire.Error("", name, w.At, err)
	}
	if p.opts.CheckSums {
		if err := w.Compare(b, p.opts.Memory); err != nil {
			return nil, err
		}
	}
	p.tensors.Words = append(p.tensors.Words, w)
	return b, nil
}

// readPickle reads an entry that is a pickle and finds what is in its object. Names begin with
// prefix, if that is not "".
func (p *parser) readPickle(name string, member *zip.Member, prefix string) error {
	b, err := p.content(name, member)
	if err != nil {
		return err
	}
	defer p.opts.Memory.Release(member.Size)
	p.container = member.At
	p.held = member.Entry
	p.holder = -1
	p.nested = nil
	size := min(member.Size, 16*member.Stored)
	m := pickle.New(wire.NewRecord("", b, member.At), member.At, size, p.opts.Memory)
	defer m.Release()
	return p.runPickle(m, name, size, prefix)
}

// runPickle runs a pickle of size bytes, which must end there, and finds what is in its object.
func (p *parser) runPickle(m *pickle.Machine, name string, size int64, prefix string) error {
	object := m.Run()
	err := m.Err()
	if err != nil {
		return err
	}
	n := m.Left()
	if n > 0 {
		return wire.Errorf("", name, m.Offset(), format.ErrCorrupt, "%d bytes follow the pickle", n)
	}
	return p.walk.Find(m, object, size, prefix)
}
