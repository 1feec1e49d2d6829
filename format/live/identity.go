package live

import (
	"os"
	"slices"
	"time"

	"github.com/weightmap/weightmap/internal/source"
)

// identity is what the system says of the files of a model: device, inode, size, modification time and ctime
// of what each path leads to, through links. The first is the model's own file or directory.
type identity struct {
	paths   []string
	bundles int           // how many of them, the last, are signatures: no memory shows these
	infos   []os.FileInfo // nil for what is not there
	at      time.Time     // when it looked
}

// look looks at files.
func look(paths []string, bundles int) identity {
	id := identity{paths, bundles, make([]os.FileInfo, len(paths)), time.Now()}
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		// Some systems do not ask which file it is until it is compared, and
		// then ask what has the name by that time.
		os.SameFile(info, info)
		id.infos[i] = info
	}
	return id
}

// again looks at the same paths.
func (id identity) again() identity { return look(id.paths, id.bundles) }

// change is what happened to files between two looks.
type change uint8

const (
	same        change = iota
	overwritten        // a file is the same one, and was changed
	replaced           // another has its place
	missing            // there is nothing in place of the model
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

// seen reports whether files that were looked at before look the same now.
func (id identity) seen() bool { return len(id.paths) > 0 && id.change(id.again()) == same }

// fresh reports whether a file had been changed so lately that it may have been changed again
// without looking different: some file systems have times of a few milliseconds, and some of
// two seconds. So is what has a time to come.
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
