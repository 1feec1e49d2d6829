package live

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/weightmap/weightmap/format"
)

// openCopy opens a model whose files are read into memory, and returns their paths.
func (h *Handle) openCopy(o *format.Options) (*format.Model, []string, error) {
	abs, err := filepath.Abs(h.path)
	if err != nil {
		return nil, nil, err
	}
	dir, name := filepath.Split(abs)
	c := &copies{ReadDirFS: os.DirFS(dir).(fs.ReadDirFS), dir: dir}
	m, err := format.OpenFS(c, name, o)
	others := slices.DeleteFunc(c.opened, func(file string) bool { return file == abs })
	return m, append([]string{h.path}, others...), err
}

// copies is a file system whose files can only be read from their beginning, so that
// OpenFS reads them into memory.
type copies struct {
	fs.ReadDirFS
	dir    string
	opened []string // the paths of files
}

// Open implements fs.FS.
func (c *copies) Open(name string) (fs.File, error) {
	f, err := c.ReadDirFS.Open(name)
	if err != nil {
		return nil, err
	}
	c.opened = append(c.opened, filepath.Join(c.dir, filepath.FromSlash(name)))
	return struct{ fs.File }{f}, nil
}
