package format

import (
	"io/fs"
	"path"

	"github.com/weightmap/weightmap/internal/wire"
)

// OpenFS opens a model in a file system, such as an embed.FS or a zip.Reader, with all its files.
// name is a file, or a directory as for Open. An *os.File is mapped, a file that is an io.ReaderAt
// is read on demand, and any other is read into memory, which counts for Options.MaxMemory.
// Options.Dir is ignored; Options.Root is a name in the file system.
//
// Links are followed as Options.Root says if the file system can read them (fs.ReadLinkFS); one
// that cannot, such as an embed.FS, decides itself. A snapshot of a Hugging Face cache opens in a
// file system that has its blobs too. Another process can replace a directory of os.DirFS by a link
// between the check and the opening; with os.Root.FS, which cannot be left, it gains nothing by
// that.
func OpenFS(fsys fs.FS, name string, opts *Options) (*Model, error) {
	return openStable(func() (*Model, error) { return openFS(fsys, name, opts) })
}

func openFS(fsys fs.FS, name string, opts *Options) (*Model, error) {
	m, err := newModel(opts)
	if err == nil && fsys == nil {
		err = missing("file system")
	}
	if err != nil {
		return nil, err
	}
	c := &m.opening
	c.options.Dir = ""
	c.fs = fsys
	c.name = name
	st, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, wire.Place(err, driverName(c.driver), name, "")
	}
	if st.IsDir() {
		c.door = inFS(fsys, name, c.options.Root)
		return m.openDir(name, false)
	}
	c.door = inFS(fsys, path.Dir(name), c.options.Root)
	r, err := c.openNamed()
	if err != nil {
		return nil, wire.Place(err, driverName(c.driver), name, "")
	}
	return m.finish(r, nil, "")
}
