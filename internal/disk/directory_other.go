//go:build !linux && !darwin

package disk

import (
	"io/fs"
	"os"

	"github.com/weightmap/weightmap/internal/source"
)

// directory is an open directory.
type directory struct{ root *os.Root }

// openDirectory opens the directory at a path.
func openDirectory(path string) (*directory, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &directory{root}, nil
}

func (d *directory) close() { d.root.Close() }

// isSame reports whether root is the same directory.
func (d *directory) isSame(root *os.Root) bool {
	own, err := d.root.Stat(".")
	if err != nil {
		return false
	}
	info, err := root.Stat(".")
	return err == nil && os.SameFile(own, info)
}

// openNoLink opens no file: Dir.Open does.
func (d *directory) openNoLink(string, string) (*source.File, bool) { return nil, false }

// list lists the directory, sorted by name.
func (d *directory) list() ([]fs.DirEntry, error) { return fs.ReadDir(d.root.FS(), ".") }
