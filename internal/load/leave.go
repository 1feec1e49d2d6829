package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Leave allows links out of the directory of a model: into Config.Root, or to the files of a cache.
func Leave() { elsewhere = (*spaces).leave }

// leave finds a file that a link out of dir leads to. It looks up the resolved path again below
// the root that it found, so that a link inserted meanwhile has no effect.
func (s *spaces) leave(dir, name string) (at location, info os.FileInfo, err error) {
	if dir, err = physical(dir); err != nil {
		return at, nil, err
	}
	file, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if err != nil {
		return at, nil, err
	}
	top, below := cacheOf(dir)
	if s.top != "" {
		if top, err = physical(s.top); err != nil {
			return at, nil, fmt.Errorf("Options.Root: %w", err)
		}
		below = ""
	}
	for _, top := range [...]struct{ path, below string }{{dir, ""}, {top, below}} {
		rel, err := filepath.Rel(top.path, file)
		if top.path == "" || err != nil || !filepath.IsLocal(rel) || !strings.HasPrefix(rel, top.below) {
			continue
		}
		root, err := openRoot(top.path)
		if err != nil {
			return at, nil, err
		}
		at = location{root, rel, true}
		if info, err = root.Stat(rel); escapes(err) {
			err = errOutside
		}
		return at, info, err
	}
	return at, nil, errOutside
}

// physical returns the absolute path of a directory, without links.
func physical(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// cacheOf returns the root of the cache in which dir is a snapshot, ROOT/snapshots/REVISION/...,
// and the prefix of the names below it that links of a snapshot lead to.
func cacheOf(dir string) (root, below string) {
	for {
		parent := filepath.Dir(dir)
		switch {
		case parent == dir:
			return "", ""
		case filepath.Base(parent) == "snapshots":
			return filepath.Dir(parent), "blobs" + string(filepath.Separator)
		}
		dir = parent
	}
}
