package format

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/directory"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/wire"
)

// dirFormat is the format of this module whose models are directories of files.
const dirFormat = "tsr"

// openDir opens the model in the directory of m.opening.door. name is that of the directory. isPath
// reports that it is a path, and not a name in a file system.
func (m *Model) openDir(name string, isPath bool) (*Model, error) {
	c := &m.opening
	defer func() { c.door.Close() }()
	asked := driverName(c.driver)
	entries, err := c.door.Entries()
	if err != nil {
		return nil, refuseDir(err, nil, asked, name)
	}
	if isRepository(entries) {
		name, entries, err = m.enterSnapshot(name, isPath)
		if err != nil {
			return nil, refuseDir(err, entries, asked, name)
		}
	}
	err = m.openEntry(entries, name, isPath)
	if err != nil {
		return nil, refuseDir(err, entries, asked, name)
	}
	return m, nil
}

// refuseDir returns the error of opening a directory. It says what the directory is, if that is
// known.
func refuseDir(err error, entries []driver.DirEntry, asked, name string) error {
	files := make([]string, len(entries))
	for i, e := range entries {
		files[i] = e.Name
	}
	is := foreign.Directory(name, files)
	if is != "" {
		err = named(err, is, asked, name)
	}
	var u *directory.Undecided
	if errors.As(err, &u) && len(u.Names) > 0 {
		err = &ChoiceError{u.Names, err}
	}
	return wire.Place(err, asked, name, "")
}

// isRepository reports whether a directory is a repository of a Hugging Face cache.
func isRepository(entries []driver.DirEntry) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e driver.DirEntry) bool { return e.Name == name && e.Dir })
	}
	return has("snapshots") && (has("blobs") || has("refs"))
}

// enterSnapshot replaces the door of a repository by that of one of its snapshots. It returns the
// name of that directory and what is in it.
func (m *Model) enterSnapshot(name string, isPath bool) (string, []driver.DirEntry, error) {
	c := &m.opening
	in := func(dir string) (string, door) {
		if isPath {
			dir = filepath.Join(name, filepath.FromSlash(dir))
			return dir, inDirectory(dir, c.options.Root)
		}
		dir = path.Join(name, dir)
		return dir, inFS(c.fs, dir, c.options.Root)
	}
	main, err := c.readEntry("refs/main", directory.MostRevision)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return name, nil, err
	}
	_, all := in("snapshots")
	snapshots, err := all.Entries()
	all.Close()
	if err != nil {
		return name, nil, err
	}
	revision, err := directory.Snapshot(string(main), snapshots)
	if err != nil {
		return name, nil, err
	}
	c.door.Close()
	name, c.door = in("snapshots/" + revision)
	entries, err := c.door.Entries()
	return name, entries, err
}

// openEntry opens the model in a directory with these entries.
func (m *Model) openEntry(entries []driver.DirEntry, name string, isPath bool) error {
	c := &m.opening
	choice, err := m.choice(entries)
	if err != nil && c.door.HasChanged() { // a listing may miss a file that takes the place of another one
		err = fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if err != nil {
		return err
	}
	if choice.File == "" {
		if c.driver == nil {
			of, err := byName(choice.Format)
			if err != nil {
				return err
			}
			c.driver = of.driver
		}
		c.name = name
		c.parts = choice.Parts
		if isPath {
			c.path = name
		}
		return m.openTree(c)
	}
	c.name = c.door.Path(choice.File)
	err = checkDriver(c.driver, choice.File, choice.Format)
	if err != nil {
		return wire.Place(err, "", c.name, "")
	}
	opened := ""
	if isPath {
		opened = c.name
	}
	r, err := c.openEntry(choice.File)
	if errors.Is(err, fs.ErrNotExist) && isThere(entries, choice.File) { // it was replaced since the directory was listed
		return fmt.Errorf("%w%.0w", ErrChanged, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; download it again", err)
	}
	_, err = m.finish(r, err, opened)
	return err
}

// choice returns what opens the model in a directory.
func (m *Model) choice(entries []driver.DirEntry) (directory.Choice, error) {
	d := m.opening.driver
	_, isDirs := d.(driver.DirParser)
	if isDirs {
		return directory.Choice{}, nil
	}
	rule := directory.Rule{Format: formatOf, Wanted: driverName(d), IsDirectory: isOfDirectories}
	return rule.Choose(entries)
}

// isThere reports whether a file is a regular one, or a link to one, in a list of entries.
func isThere(entries []driver.DirEntry, name string) bool {
	return slices.ContainsFunc(entries, func(e driver.DirEntry) bool { return e.Name == name && e.Regular })
}

// formatOf returns the format of files with the ending of name, linked or not, or "".
func formatOf(name string) string {
	r, ok := byExtension(name)
	if ok {
		return r.name
	}
	return foreign.ByEnding(name)
}

// checkDriver returns an error that names the package to import if no linked format has files
// called name. d is the format that was asked for, or nil.
func checkDriver(d driver.Driver, name, format string) error {
	_, ok := byExtension(name)
	if ok || d != nil {
		return nil
	}
	return noDriver(format)
}

// isOfDirectories reports whether models of a format are directories.
func isOfDirectories(format string) bool {
	r, err := byName(format)
	if err != nil {
		return format == dirFormat
	}
	_, ok := r.driver.(driver.DirParser)
	return ok
}
