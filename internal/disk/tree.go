package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Tree is a directory that is being written, under a hidden name next to its path. It appears by
// one rename.
type Tree struct {
	NoSync bool // skips fsync

	final  string
	hidden string
	old    fs.FileInfo // the empty directory to replace; nil if there is none
}

// CreateTree starts a directory. Its path must not exist or be an empty directory. The first
// CreateTree in a directory removes what killed writers left there, as far as it holds only files
// whose names end in extension.
func CreateTree(path, extension string) (*Tree, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	abs, err = Resolve(abs)
	if err != nil {
		return nil, err
	}
	old, err := emptyDir(abs)
	if err != nil {
		return nil, err
	}
	removeLeftoverTrees(filepath.Dir(abs), extension)
	mode := fs.FileMode(0o777)
	if old != nil {
		mode = 0o700 // Publish sets the old directory's permissions
	}
	hidden := hiddenName(abs, newWriter(), 0)
	if err := Mkdir(hidden, mode); err != nil {
		return nil, err
	}
	return &Tree{final: abs, hidden: hidden, old: old}, nil
}

// emptyDir returns the FileInfo of the empty directory at path, or nil if path does not exist.
func emptyDir(path string) (fs.FileInfo, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%w: the directory is not empty, it has %q: write to a new one, or remove it first", fs.ErrExist, entries[0].Name())
	}
	return os.Stat(path)
}

// Create creates a file in the directory. It fails if the file system takes the name for that of
// another file.
func (t *Tree) Create(name string) (*File, error) {
	f, err := create(filepath.Join(t.hidden, name), 0o666)
	if err != nil {
		return nil, err
	}
	f.NoSync = t.NoSync
	return f, nil
}

// Publish renames the directory, whose files are complete, into place and makes that durable,
// unless NoSync is set. Of the errors only ErrNotDurable leaves it in place.
func (t *Tree) Publish() error {
	if t.old != nil {
		t.inherit()
	}
	if !t.NoSync {
		if err := SyncDir(t.hidden); err != nil {
			return err
		}
	}
	if t.old != nil {
		if err := Remove(t.final); err != nil {
			return err
		}
	}
	if err := Rename(t.hidden, t.final); err != nil {
		if t.old != nil {
			return errors.Join(err, Mkdir(t.final, t.old.Mode().Perm()))
		}
		return err
	}
	if t.NoSync {
		return nil
	}
	return settle(filepath.Dir(t.final))
}

func (t *Tree) inherit() {
	f, err := os.Open(t.hidden)
	if err != nil {
		return
	}
	defer f.Close()
	inherit(f, t.old)
}

// Abort removes the directory, unless it is in place.
func (t *Tree) Abort() { removeTree(t.hidden, "", time.Now().Add(abandoned)) }
