package torch

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pickle"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
)

// folder is the directory of an archive that was unpacked. The storage KEY is its file data/KEY.
type folder struct {
	dir    driver.Dir
	stores string // the directory of the storages of a pickle
}

var _ driver.FolderParser = fileFormat{}

// ParseFolder implements driver.FolderParser.
func (fileFormat) ParseFolder(d driver.Dir, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	m := &zip.Tensors{Index: x, Memory: o.Memory}
	p := &parser{tensors: m, opts: o, index: x, holder: -1, folder: &folder{dir: d}}
	p.walk = pickle.NewWalk(p, o.Memory, pickle.RootName(d.Path()))
	err := p.parseFolder()
	if err != nil {
		return nil, err
	}
	p.walk.Finish()
	m.Places = p.places
	return &driver.Parsed{
		Load: m.Load, Sums: m.Sums, SumsOf: m.SumsOf,
		Metadata: p.walk.Metadata,
		Notes:    append(p.notes, p.walk.Notes...),
	}, nil
}

// parseFolder reads the files of an archive that was unpacked.
func (p *parser) parseFolder() error {
	entries, err := p.folder.dir.Entries()
	if err != nil {
		return err
	}
	has := make(map[string]bool)
	for _, e := range entries {
		has[e.Name] = true
	}
	p.index.Version = "unpacked"
	if has[versionName] {
		p.index.Version, err = p.fileWord(versionName)
		if err != nil {
			return p.inFile(versionName, err)
		}
	}
	if has[byteorderName] {
		text, err := p.fileWord(byteorderName)
		if err != nil {
			return p.inFile(byteorderName, err)
		}
		err = p.setOrder(text, 0)
		if err != nil {
			return p.inFile(byteorderName, err)
		}
	}
	if has[codeName] {
		p.notes = append(p.notes, scriptNote)
	}
	err = p.readFile(pickleName, dataName, "")
	if err != nil {
		return p.inFile(pickleName, err)
	}
	if !has[constantsName] || !has[codeName] {
		return nil
	}
	err = p.readFile(constantsName, sharedName, sharedName)
	return p.inFile(constantsName, err)
}

// inFile adds the path of a file of the folder to an error that has none.
func (p *parser) inFile(name string, err error) error {
	return wire.Place(err, "", p.pathOf(name), "")
}

// pathOf returns the path of a file of the folder.
func (p *parser) pathOf(name string) string {
	return filepath.Join(p.folder.dir.Path(), filepath.FromSlash(name))
}

// fileWord returns the content of a file that holds a single word.
func (p *parser) fileWord(name string) (string, error) {
	src, _, err := p.folder.dir.Open(name)
	if err != nil {
		return "", err
	}
	if src.Size() > longestWord {
		return "", notWord(name, 0, src.Size())
	}
	b, err := driver.Prefix(src, longestWord)
	return strings.TrimSpace(string(b)), err
}

// readFile reads a file that is a pickle, whose storages are in the directory stores, and finds
// what is in its object. Names begin with prefix, if that is not "".
func (p *parser) readFile(name, stores, prefix string) error {
	src, space, err := p.folder.dir.Open(name)
	if err != nil {
		return err
	}
	size := src.Size()
	p.file = &zip.File{Src: src, Space: space, Plain: true}
	p.held = zip.Entry{File: p.file, Stored: size, Size: size}
	p.holder = -1
	p.nested = nil
	p.folder.stores = stores
	p.keys = make(map[string]int)
	h := driver.ReadHead(src, p.opts)
	m := pickle.New(wire.HeadRecord("", h, 0, size), 0, size, p.opts.Memory)
	defer m.Release()
	err = p.runPickle(m, name, size, prefix)
	closed := h.Close(size)
	if err != nil {
		return err
	}
	return closed
}

// openStore opens the file of a storage, of which a persistent id speaks, unless that is open. It
// returns its index among the storages.
func (p *parser) openStore(m *pickle.Machine, ref pickle.Ref, key string) (int, error) {
	i, isOpen := p.keys[key]
	if isOpen {
		return i, nil
	}
	if !fs.ValidPath(key) || key == "." || strings.ContainsAny(key, `/\`) {
		return 0, m.Errorf(ref, format.ErrCorrupt,
			"a tensor is in storage %.200q, which is no name of a file", key)
	}
	name := p.folder.stores + "/" + key
	src, space, err := p.folder.dir.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, m.Errorf(ref, format.ErrCorrupt,
			"a tensor is in the file %.300s, which is missing%.0w", p.pathOf(name), err)
	}
	if err != nil {
		return 0, wire.Place(err, "", p.pathOf(name), "")
	}
	err = p.opts.Memory.Reserve(storeBytes)
	if err != nil {
		return 0, m.Errorf(ref, format.ErrLimit, "storages: %w", err)
	}
	size := src.Size()
	file := &zip.File{Src: src, Space: space, Plain: true}
	i = p.addStore(zip.Entry{File: file, Stored: size, Size: size})
	p.keys[key] = i
	return i, nil
}
