package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Split is the files of a model whose first part opens it, and whose other parts have fixed names that no file lists. It
// is written where there is none, since it cannot be replaced at once. The first part appears last.
type Split struct {
	NoSync  bool // skips fsync, and does not remove File
	KeepOld bool // does not remove File
	// File is the path of a model in one file that the new one replaces, "" for none.
	File string

	paths    []string
	isPart   func(name string) bool
	writer   uint32
	like     fs.FileInfo
	parts    []*part
	isPlaced bool
}

// CreateSplit starts writing a model in files at these paths of one directory. isPart reports whether a file is a part
// of such a model, of any number of parts, by its name.
func CreateSplit(paths []string, file string, isPart func(name string) bool) (*Split, error) {
	s := &Split{File: file, paths: paths, isPart: isPart, writer: newWriter(), parts: make([]*part, len(paths))}
	if err := s.checkFree(); err != nil {
		return nil, err
	}
	if file != "" {
		info, err := os.Stat(file)
		if err == nil {
			s.like = info
		}
	}
	return s, nil
}

// checkFree returns an error if there is a part of such a model.
func (s *Split) checkFree() error {
	entries, err := os.ReadDir(filepath.Dir(s.paths[0]))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if s.isPart(e.Name()) {
			return s.taken(e.Name())
		}
	}
	return nil
}

func (s *Split) taken(name string) error {
	return fmt.Errorf("%w: %s is part of a split model, which cannot be replaced at once: remove its parts first, or write under another name", fs.ErrExist, name)
}

// CreatePart starts part i. The caller completes it.
func (s *Split) CreatePart(i int) (*File, error) {
	final, err := Resolve(s.paths[i])
	if err != nil {
		return nil, err
	}
	removeLeftovers(filepath.Dir(final))
	f, err := createHidden(final, hiddenName(final, s.writer, uint16(i)), s.like)
	if err != nil {
		return nil, err
	}
	f.NoSync = s.NoSync
	s.parts[i] = &part{File: f}
	return f, nil
}

// Publish puts the files, which are complete, in place. After ErrNotDurable they are there; after another error nothing
// has changed.
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
	if !s.NoSync {
		if err := settle(dir); err != nil {
			return err
		}
	}
	if s.NoSync || s.KeepOld {
		return nil
	}
	info := lstat(s.File)
	if info == nil || !info.Mode().IsRegular() {
		return nil
	}
	_ = Remove(s.File)
	return settle(dir)
}

func (s *Split) place(dir string) error {
	if err := s.checkFree(); err != nil {
		return err
	}
	for i, p := range s.parts[1:] {
		if err := p.place(s.paths[i+1]); err != nil {
			return s.explain(err, s.paths[i+1])
		}
	}
	if !s.NoSync {
		if err := SyncDir(dir); err != nil {
			return err
		}
	}
	return s.explain(s.parts[0].placeWhole(s.paths[0]), s.paths[0])
}

func (s *Split) explain(err error, path string) error {
	if errors.Is(err, fs.ErrExist) {
		return s.taken(filepath.Base(path))
	}
	return err
}

// placeWhole is place for a file that must not be seen empty.
func (p *part) placeWhole(path string) error {
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
