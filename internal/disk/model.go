package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/tensor"
)

// Model is the files of one model that is being written: its parts, and the file that opens it and
// names them. They appear by one rename.
//
// Parts are completed under hidden names. Publish gives them names that no file has, by links,
// which replace nothing. If no model is in place these are the plain names of the format; otherwise
// they contain a hash of the old index and of the new data, so that they never come again. Publish
// then syncs the directory, reads the old index again, which may be another one meanwhile, and
// starts over if it is. Only the rename of the new index replaces anything. What the old index
// named is removed after the directory was synced once more.
//
// So a process that is killed, a crash of the system, and two writers at the same time leave the
// old model or a new one. Of models in one file and in parts, which replace each other, see
// mark.go. A lock keeps two writers from leaving files that no model names; nothing else depends on
// it, since there are file systems without locks.
type Model struct {
	Places
	Index
	NoSync   bool   // skips fsync, and removes no part of the old model
	KeepOld  bool   // removes no part of the old model
	Contents uint64 // a hash of the data, for the names of parts

	writer   uint32
	like     fs.FileInfo // the new files get its owner and permissions; may be nil
	opening  *File
	own      fs.FileInfo // of opening, from when it is complete
	parts    []*part
	arePlain bool     // the parts have plain names, or some of them
	made     []string // directories that were created
	isPlaced bool
}

// Places are the paths of the files of a model.
type Places struct {
	// Dir is the directory that names of parts are relative to.
	Dir string
	// Opens is the path of the file that opens the new model.
	Opens string
	// List is the path of the file that lists the parts of a model in place, "" if the format has
	// none. If it is not Opens it is removed, since a directory opens by it.
	List string
	// File is the path of a model in one file that the new one replaces, "" for none. If it is not
	// Opens it is removed.
	File string
	// Look lists other directories with models that may name the same parts.
	Look []string
	// Excludes returns one of the names of files in the directory of Opens that the model cannot be
	// beside, since the directory would then open neither, or "". It is not asked if there is a
	// file at Opens already. It may be nil.
	Excludes func(names []string) string
}

// Index is what a format says about the file that opens a model. Names of parts are relative to
// Places.Dir and have slashes.
type Index interface {
	// Name returns the name of part i. generation is 16 hexadecimal digits. If it is "" Name
	// returns the plain name, or "" if parts have none.
	Name(i int, generation string) string
	// Generation reports whether Name returns a name for some part of a model in Places, and for
	// which generation.
	Generation(name string) (generation string, ok bool)
	// Write writes the content of the file that opens the model. It may be called again with other
	// names of its parts.
	Write(f *File, names []string) error
	// Read returns the names of the parts that a file lists, relative to its own directory. A file
	// that is no index has none. The file may be damaged or hostile.
	Read(f *os.File) (names []string, err error)
	// MayList reports whether a file of that name may list parts.
	MayList(name string) bool
}

// CreateModel starts writing a model of that many parts.
func CreateModel(p Places, x Index, parts int) (*Model, error) {
	if parts > mostParts {
		return nil, fmt.Errorf("%w: %d files, the most is %d", tensor.ErrLimit, parts, mostParts)
	}
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err == nil { // the directory is swept and locked by one name
		p.Dir = dir
	}
	m := &Model{Places: p, Index: x, writer: newWriter(), parts: make([]*part, parts)}
	for _, path := range []string{p.File, p.List, p.Opens} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file: %w", path, os.ErrInvalid)
		}
		m.like = info
	}
	if err := m.checkFree(); err != nil {
		return nil, err
	}
	final, err := Resolve(p.Opens)
	if err != nil {
		return nil, err
	}
	m.opening, err = m.create(final, 0)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// checkFree returns an error if there is a file that the model cannot be beside.
func (m *Model) checkFree() error {
	if m.Excludes == nil || exists(m.Opens) {
		return nil
	}
	return checkExcluded(filepath.Dir(m.Opens), m.Excludes)
}

// checkExcluded returns an error if excludes returns a file of a directory.
func checkExcluded(dir string, excludes func(names []string) string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	taken := excludes(names)
	if taken == "" {
		return nil
	}
	return errTaken(taken)
}

func errTaken(name string) error {
	return fmt.Errorf("%w: %s is of a model that cannot be replaced at once: remove its files first, or write under another name", fs.ErrExist, name)
}

// create starts a file under a hidden name next to a path.
func (m *Model) create(path string, number int) (*File, error) {
	removeLeftovers(filepath.Dir(path))
	return createHidden(path, hiddenName(path, m.writer, uint16(number)), m.like)
}

// Opening returns the file that opens the model.
func (m *Model) Opening() *File { return m.opening }

// CreatePart starts part i. The caller completes it.
func (m *Model) CreatePart(i int) (*File, error) {
	path := m.at(m.Name(i, zeros))
	made, err := MakeDirs(filepath.Dir(path))
	m.made = append(m.made, made...)
	if err != nil {
		return nil, err
	}
	f, err := m.create(path, 1+i)
	if err != nil {
		return nil, err
	}
	f.NoSync = m.NoSync
	m.parts[i] = &part{File: f}
	return f, nil
}

const (
	mostParts = 1<<16 - 1
	zeros     = "0000000000000000" // a generation, before there is one
)

// at returns the path of a part.
func (m *Model) at(name string) string { return filepath.Join(m.Dir, filepath.FromSlash(name)) }

// Publish puts the files, of which the parts have been created and completed, in place. After
// ErrNotDurable they are there but may not survive a crash, and nothing was removed. After another
// error before the rename nothing has changed; after the rename the error says what could not be
// removed.
func (m *Model) Publish() error {
	defer lockDir(filepath.Dir(m.opening.final))()
	old, names, err := m.place()
	if err != nil {
		m.withdraw()
		return err
	}
	defer old.release()
	if err := m.opening.close(); err != nil {
		m.withdraw()
		return err
	}
	m.own = lstat(m.opening.Name())
	if err := Rename(m.opening.Name(), m.opening.final); err != nil {
		m.withdraw()
		return err
	}
	m.published()
	if !m.NoSync {
		if err := settle(filepath.Dir(m.opening.final)); err != nil {
			return err
		}
	}
	return m.removeReplaced(old, names)
}

// place gives the parts their names, has the opening file written, and returns the model that it is
// to replace. It starts over while other writers replace that.
func (m *Model) place() (*oldModel, []string, error) {
	if err := m.checkFree(); err != nil {
		return nil, nil, err
	}
	const most = 16 // the last one is right, too, but may leave parts of others behind
	for try := 1; ; try++ {
		old, err := m.readOld()
		if err != nil {
			return nil, nil, err
		}
		names, err := m.prepare(old)
		if err != nil {
			old.release()
			return nil, nil, err
		}
		if try == most || m.isCurrent(old) {
			return old, names, nil
		}
		old.release()
		m.withdraw()
	}
}

// prepare makes all but the rename durable.
func (m *Model) prepare(old *oldModel) ([]string, error) {
	names, err := m.linkParts(old)
	if err != nil {
		return nil, err
	}
	m.opening.NoSync = m.NoSync
	if err := m.Write(m.opening, names); err != nil {
		return nil, err
	}
	if err := m.opening.flush(); err != nil {
		return nil, err
	}
	return names, m.syncParts(names)
}

// published notes that the files are in place, and removes the hidden names of the parts.
func (m *Model) published() {
	m.isPlaced = true
	m.opening.isUnnamed = true
	for _, p := range m.parts {
		p.forget()
	}
}

// Abort removes the files, unless they are in place.
func (m *Model) Abort() {
	m.opening.Abort()
	if m.isPlaced {
		return
	}
	m.withdraw()
	abort(m.parts)
	for i := len(m.made) - 1; i >= 0; i-- {
		_ = Remove(m.made[i]) // fails unless empty
	}
}
