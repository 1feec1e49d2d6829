package live

import (
	"os"
	"slices"

	"github.com/weightmap/weightmap/internal/source"
)

// identity is the device, inode, size, modification time and ctime of the files of a model, after
// following links. The first is the model's own file or directory.
type identity struct {
	paths []string
	infos []os.FileInfo // nil if missing
}

// look returns the identity of files.
func look(paths []string) identity {
	id := identity{paths, make([]os.FileInfo, len(paths))}
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil {
			// Windows reads the file's identity lazily, by name. This call makes it do so now.
			os.SameFile(info, info)
			id.infos[i] = info
		}
	}
	return id
}

// change is the difference between two looks at files.
type change uint8

const (
	same        change = iota
	replaced           // another file is at a path
	overwritten        // the same file was changed in place
	missing            // the model's path does not exist
)

// change compares two looks.
func (id identity) change(now identity) (what change) {
	if !slices.Equal(id.paths, now.paths) {
		return replaced
	}
	if id.infos[0] != nil && now.infos[0] == nil {
		return missing
	}
	for i, was := range id.infos {
		what = max(what, changeOf(was, now.infos[i]))
	}
	return what
}

// changeOf compares two looks at one path.
func changeOf(was, now os.FileInfo) change {
	switch {
	case was == nil && now == nil:
		return same
	case was == nil || now == nil || !os.SameFile(was, now):
		return replaced
	case was.Size() == now.Size() && was.ModTime().Equal(now.ModTime()) && was.Mode().Type() == now.Mode().Type() &&
		source.Changed(was).Equal(source.Changed(now)):
		return same
	case was.Mode().IsRegular():
		return overwritten
	}
	return replaced
}
