package live

import (
	"os"
	"slices"
	"time"

	"github.com/weightmap/weightmap/internal/source"
)

// identity is the device, inode, size, modification time and ctime of the files of a model, after
// following links. The first is the model's own file or directory.
type identity struct {
	paths   []string
	bundles int           // number of signature bundles at the end of paths
	infos   []os.FileInfo // nil if missing
	at      time.Time     // time of the look
}

// look returns the identity of files.
func look(paths []string, bundles int) identity {
	id := identity{paths, bundles, make([]os.FileInfo, len(paths)), time.Now()}
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		// Windows reads the file's identity lazily, by name. This call makes it do so now.
		os.SameFile(info, info)
		id.infos[i] = info
	}
	return id
}

// again looks at the same paths again.
func (id identity) again() identity { return look(id.paths, id.bundles) }

// change is the difference between two looks at files.
type change uint8

const (
	same        change = iota
	overwritten        // the same file was changed in place
	replaced           // another file is at the path
	missing            // the model's path does not exist
)

// change compares two looks.
func (id identity) change(now identity) change {
	if len(now.infos) == 0 || len(id.infos) == 0 || !slices.Equal(id.paths, now.paths) {
		return replaced
	}
	if id.infos[0] != nil && now.infos[0] == nil {
		return missing
	}
	what := same
	for i, was := range id.infos {
		switch c := changeOf(was, now.infos[i]); {
		case c == overwritten && i < len(id.infos)-id.bundles:
			return c
		case c != same:
			what = replaced
		}
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

// seen reports whether the files look the same as at an earlier look.
func (id identity) seen() bool { return len(id.paths) > 0 && id.change(id.again()) == same }

// fresh reports whether a file was changed so recently that another change may not show: the
// resolution of file times is some milliseconds, and two seconds on some file systems. A time in the
// future counts as recent.
func (id identity) fresh() bool {
	return slices.ContainsFunc(id.infos, func(info os.FileInfo) bool {
		if info == nil {
			return false
		}
		grain := 20 * time.Millisecond
		if info.ModTime().Nanosecond() == 0 {
			grain = 2 * time.Second
		}
		return id.at.Sub(info.ModTime()) < grain
	})
}
