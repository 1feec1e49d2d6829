package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Split is the files of a model whose first part opens it, and whose other parts have fixed names
// that no file lists. It is written where there is none, and no model in one file, since it cannot
// replace either at once. The first part appears last.
type Split struct {
	NoSync bool // skips fsync

	file     string // the path of the model in one file
	paths    []string
	names    SplitNames
	writer   uint32
	parts    []*part
	isPlaced bool
}

// SplitNames is what a format says about the names of the files of a model.
type SplitNames interface {
	// Excludes is Places.Excludes.
	Excludes(names []string) string
	// First returns the name of the first part of the model that a file is a part of, or "".
	First(name string) string
}

// CreateSplit starts writing a model in files at these paths of one directory. file is the path of
// the model in one file.
func CreateSplit(file string, paths []string, names SplitNames) (*Split, error) {
	s := &Split{file: file, paths: paths, names: names, writer: newWriter(), parts: make([]*part, len(paths))}
	err := s.checkFree()
	if errors.Is(err, fs.ErrExist) {
		s.removeUnpublished()
		err = s.checkFree()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Split) checkFree() error { return checkExcluded(filepath.Dir(s.file), s.names.Excludes) }

// removeUnpublished removes parts of models that have no first part, as far as a writer that was
// killed more than a day ago left them: then they still have their hidden names.
func (s *Split) removeUnpublished() {
	dir := filepath.Dir(s.file)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	dead := findLeftovers(entries, 0)
	if len(dead) == 0 {
		return
	}
	unmark, err := mark(s.file, s.writer)
	if err != nil {
		return
	}
	defer unmark()
	for _, e := range entries {
		first := s.names.First(e.Name())
		if first == "" || lstat(filepath.Join(dir, first)) != nil {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info := lstat(path)
		if info == nil {
			continue
		}
		hidden := sameAs(info, dir, dead)
		if hidden != "" && removeSame(path, info) == nil {
			_ = Remove(hidden)
		}
	}
}

// CreatePart starts part i. The caller completes it.
func (s *Split) CreatePart(i int) (*File, error) {
	final, err := Resolve(s.paths[i])
	if err != nil {
		return nil, err
	}
	removeLeftovers(filepath.Dir(final))
	f, err := createHidden(final, hiddenName(final, s.writer, uint16(i)), nil)
	if err != nil {
		return nil, err
	}
	f.NoSync = s.NoSync
	s.parts[i] = &part{File: f}
	return f, nil
}

// Publish puts the files, which are complete, in place. After ErrNotDurable they are there; after
// another error nothing has changed.
func (s *Split) Publish() error {
	dir := filepath.Dir(s.paths[0])
	defer lockDir(dir)()
	if err := s.place(dir); err != nil {
		withdraw(s.parts)
		return err
	}
	s.isPlaced = true
	for _, p := range s.parts {
		p.forget()
	}
	if s.NoSync {
		return nil
	}
	return settle(dir)
}

func (s *Split) place(dir string) error {
	if err := s.checkFree(); err != nil {
		return err
	}
	for i, p := range s.parts[1:] {
		if err := p.place(s.paths[i+1]); err != nil {
			return explainTaken(err, s.paths[i+1])
		}
	}
	if !s.NoSync {
		if err := SyncDir(dir); err != nil {
			return err
		}
	}
	isGone := func(p *part) bool { return checkSame(p.placed, p.info) != nil }
	if isMarked(s.file, s.writer) || slices.ContainsFunc(s.parts[1:], isGone) {
		return errTaken(filepath.Base(s.paths[0])) // another writer removes files of these names
	}
	return explainTaken(s.parts[0].placeWhole(s.paths[0]), s.paths[0])
}

func explainTaken(err error, path string) error {
	if errors.Is(err, fs.ErrExist) {
		return errTaken(filepath.Base(path))
	}
	return err
}

// placeWhole is place for a file that must not be seen empty.
func (p *part) placeWhole(path string) error {
	p.info = lstat(p.Name())
	err := makeLink(p.Name(), path)
	if err == nil {
		p.placed = path
		return nil
	}
	if errors.Is(err, fs.ErrExist) || exists(path) {
		return fs.ErrExist
	}
	if err := Rename(p.Name(), path); err != nil { // no links here
		return err
	}
	p.placed = path
	p.isMoved = true
	return nil
}

// Abort removes the files, unless they are in place.
func (s *Split) Abort() {
	if s.isPlaced {
		return
	}
	withdraw(s.parts)
	abort(s.parts)
}
