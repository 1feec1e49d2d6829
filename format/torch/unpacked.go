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
	r := &reading{m: m, o: o, x: x, holder: -1, folder: &folder{dir: d}}
	r.walk = pickle.NewWalk(r, o.Memory, pickle.RootName(d.Path()))
	err := r.parseFolder()
	if err != nil {
		return nil, err
	}
	r.walk.Finish()
	m.Places = r.places
	return &driver.Parsed{
		Load: m.Load, Sums: m.Sums, SumsOf: m.SumsOf,
		Metadata: r.walk.Metadata,
		Notes:    append(r.notes, r.walk.Notes...),
	}, nil
}

// parseFolder reads the files of an archive that was unpacked.
func (r *reading) parseFolder() error {
	entries, err := r.folder.dir.Entries()
	if err != nil {
		return err
	}
	has := make(map[string]bool)
	for _, e := range entries {
		has[e.Name] = true
	}
	r.x.Version = "unpacked"
	if has[versionName] {
		r.x.Version, err = r.fileWord(versionName)
		if err != nil {
			return r.inFile(versionName, err)
		}
	}
	if has[byteorderName] {
		text, err := r.fileWord(byteorderName)
		if err != nil {
			return r.inFile(byteorderName, err)
		}
		err = r.setOrder(text, 0)
		if err != nil {
			return r.inFile(byteorderName, err)
		}
	}
	if has[codeName] {
		r.notes = append(r.notes, scriptNote)
	}
	err = r.readFile(pickleName, dataName, "")
	if err != nil {
		return r.inFile(pickleName, err)
	}
	if !has[constantsName] || !has[codeName] {
		return nil
	}
	err = r.readFile(constantsName, sharedName, sharedName)
	return r.inFile(constantsName, err)
}

// inFile adds the path of a file of the folder to an error that has none.
func (r *reading) inFile(name string, err error) error {
	return wire.Place(err, "", r.pathOf(name), "")
}

// pathOf returns the path of a file of the folder.
func (r *reading) pathOf(name string) string {
	return filepath.Join(r.folder.dir.Path(), filepath.FromSlash(name))
}

// fileWord returns the content of a file that holds a single word.
func (r *reading) fileWord(name string) (string, error) {
	src, _, err := r.folder.dir.Open(name)
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
func (r *reading) readFile(name, stores, prefix string) error {
	src, space, err := r.folder.dir.Open(name)
	if err != nil {
		return err
	}
	size := src.Size()
	r.file = &zip.File{Src: src, Space: space, Plain: true}
	r.held = zip.Entry{File: r.file, Stored: size, Size: size}
	r.holder = -1
	r.nested = nil
	r.folder.stores = stores
	r.keys = make(map[string]int)
	h := driver.ReadHead(src, r.o)
	m := pickle.New(wire.HeadRecord("", h, size), 0, size, r.o.Memory)
	defer m.Release()
	err = r.runFile(m, name, prefix)
	closed := h.Close(size)
	if err != nil {
		return err
	}
	return closed
}

// runFile runs the pickle of a file and finds what is in its object.
func (r *reading) runFile(m *pickle.Machine, name, prefix string) error {
	root := m.Run()
	err := m.Err()
	if err != nil {
		return err
	}
	if n := m.Left(); n > 0 {
		return wire.Errorf("", name, m.Offset(), format.ErrCorrupt, "%d bytes follow the pickle", n)
	}
	return r.walk.Find(m, root, m.Offset(), prefix)
}

// openStore opens the file of a storage, of which a persistent id speaks, unless that is open. It
// returns its index among the storages.
func (r *reading) openStore(m *pickle.Machine, ref pickle.Ref, key string) (int, error) {
	i, isOpen := r.keys[key]
	if isOpen {
		return i, nil
	}
	if !fs.ValidPath(key) || key == "." || strings.ContainsAny(key, `/\`) {
		return 0, m.Errorf(ref, format.ErrCorrupt, "a tensor is in storage %.200q, which is no name of a file", key)
	}
	name := r.folder.stores + "/" + key
	src, space, err := r.folder.dir.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, m.Errorf(ref, format.ErrCorrupt, "a tensor is in the file %.300s, which is missing%.0w", r.pathOf(name), err)
	}
	if err != nil {
		return 0, wire.Place(err, "", r.pathOf(name), "")
	}
	if err := r.o.Memory.Reserve(storeBytes); err != nil {
		return 0, m.Errorf(ref, format.ErrLimit, "storages: %w", err)
	}
	size := src.Size()
	i = r.addStore(zip.Entry{File: &zip.File{Src: src, Space: space, Plain: true}, Stored: size, Size: size})
	r.keys[key] = i
	return i, nil
}
