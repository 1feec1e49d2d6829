package live

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
)

// openCopy opens a model whose files are read into memory, and returns their paths.
func (h *Handle) openCopy(o *format.Options) (*format.Model, []string, error) {
	abs, err := filepath.Abs(h.path)
	if err != nil {
		return nil, nil, err
	}
	dir, name := filepath.Split(abs)
	c := &copies{FS: os.DirFS(dir)}
	m, err := format.OpenFS(c, name, o)
	if err != nil {
		return nil, nil, err
	}
	files := []string{h.path}
	for _, n := range c.opened {
		if n != name {
			files = append(files, filepath.Join(dir, filepath.FromSlash(n)))
		}
	}
	return m, files, nil
}

// copies is a file system whose files can only be read from their beginning, so that
// OpenFS reads them into memory.
type copies struct {
	fs.FS
	opened []string
}

// Open implements fs.FS.
func (c *copies) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || st.IsDir() {
		return f, err
	}
	c.opened = append(c.opened, path.Clean(name))
	return struct{ fs.File }{f}, nil
}

// Stat implements fs.StatFS. It does not record the file as opened.
func (c *copies) Stat(name string) (fs.FileInfo, error) { return fs.Stat(c.FS, name) }
