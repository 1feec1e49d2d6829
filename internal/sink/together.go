package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Finish completes the content of the file, which keeps its temporary name. With sync it is
// on stable storage by then. Abort must follow, or CommitAll.
func (f *File) Finish(sync bool) error { return f.finish(sync) }

// together puts several files in place, and knows how to undo that.
type together struct {
	undo []func() error
	old  []string // what took the place of the replaced files
}

// CommitAll puts finished files in place. The last one, which names the others, comes last,
// so that they appear with its rename. With mixes some of the others replace files that
// the old last one names: it is set aside before, so that no reader opens a mixture of both models.
// Errors are those of Commit.
func CommitAll(files []*File, sync, mixes bool) error {
	var g together
	err := g.put(files, sync, mixes)
	if err != nil {
		for _, undo := range slices.Backward(g.undo) {
			err = errors.Join(err, undo())
		}
	} else if sync {
		err = eachDir(files, durably)
	}
	for _, name := range g.old {
		if _, e := os.Lstat(name); e == nil {
			_ = Remove(name)
		}
	}
	for _, f := range files {
		f.release()
	}
	return err
}

func (g *together) put(files []*File, sync, mixes bool) error {
	last := files[len(files)-1]
	aside := setAside(last.final)
	if mixes {
		if err := g.rename(last.final, aside); err != nil {
			return g.dropAll(files, err)
		}
	}
	for _, f := range files[:len(files)-1] {
		if err := g.place(f); err != nil {
			return g.dropAll(files, err)
		}
	}
	if sync && len(files) > 1 {
		if err := eachDir(files, SyncDir); err != nil {
			return g.dropAll(files, err)
		}
	}
	if err := rename(last.Name(), last.final); err != nil {
		return g.dropAll(files, err)
	}
	g.old = append(g.old, aside) // also of a writer that was killed
	return nil
}

// dropAll has the temporary files removed when everything else is undone.
func (g *together) dropAll(files []*File, err error) error {
	g.old = nil
	for _, f := range files {
		g.old = append(g.old, f.Name())
	}
	return err
}

// place gives one file its name, and keeps the one that had it.
func (g *together) place(f *File) error {
	_, err := os.Lstat(f.final)
	if errors.Is(err, fs.ErrNotExist) {
		if err := rename(f.Name(), f.final); err != nil {
			return err
		}
		g.undo = append(g.undo, func() error { return Remove(f.final) })
		return nil
	}
	aside := setAside(f.final)
	g.old = append(g.old, aside)
	if err := g.rename(f.final, aside); err != nil {
		return err
	}
	return rename(f.Name(), f.final)
}

// rename moves a file out of the way.
func (g *together) rename(from, to string) error {
	if err := rename(from, to); err != nil {
		return err
	}
	g.undo = append(g.undo, func() error { return rename(to, from) })
	return nil
}

// eachDir calls f with the directories of files.
func eachDir(files []*File, f func(dir string) error) error {
	var done []string
	for _, file := range files {
		dir := filepath.Dir(file.final)
		if slices.Contains(done, dir) {
			continue
		}
		if err := f(dir); err != nil {
			return err
		}
		done = append(done, dir)
	}
	return nil
}

// setAside is where the old file at path is until the new ones are in place.
func setAside(path string) string {
	return filepath.Join(filepath.Dir(path), "."+Shorten(filepath.Base(path))+".weightmap-old")
}
