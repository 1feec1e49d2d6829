package format

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/wire"
)

// OpenFS opens a model in a file system, such as an embed.FS or a zip.Reader, with all its files. name is a
// file, or a directory as for Open (but not one of .tsr files). An *os.File is mapped, a file that is an
// io.ReaderAt is read on demand, and any other is read into memory, which counts for Options.MaxMemory.
// Options.Dir and Root are ignored.
func OpenFS(fsys fs.FS, name string, opts *Options) (*Model, error) {
	m, err := Codec{}.opening(opts)
	if err == nil && fsys == nil {
		err = missing("file system")
	}
	if err != nil {
		return nil, err
	}
	m.opening.Options.Dir = ""
	m.opening.Sibling = func(n string) (*source.Region, error) {
		return m.regionOf(fsys, path.Join(path.Dir(name), n))
	}
	var r *source.Region
	name, err = inFS(fsys, name, m.opening.Driver)
	if err == nil {
		r, err = m.regionOf(fsys, name)
	}
	if err != nil {
		return nil, wire.Explain(err, m.opening.Options.Format, name)
	}
	m.place.fsys = fsys
	m.place.name = name
	return m.finish(r, nil, "")
}

// inFS returns the file that opens the model called name.
func inFS(fsys fs.FS, name string, d driver.Driver) (string, error) {
	st, err := fs.Stat(fsys, name)
	if err != nil || !st.IsDir() {
		return name, err
	}
	list, err := fs.ReadDir(fsys, name)
	if err != nil {
		return name, err
	}
	entries := make([]driver.DirEntry, len(list))
	for i, e := range list {
		entries[i] = driver.DirEntry{Name: e.Name(), Regular: !e.IsDir()}
	}
	file, of, err := choice(d, entries)
	if of != nil {
		err = fmt.Errorf("%w: a directory of %s files opens by its path alone", ErrUnsupported, of.Describe().Name)
	}
	return path.Join(name, file), err
}

// regionOf opens a file.
func (m *Model) regionOf(fsys fs.FS, name string) (*source.Region, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%w: %w", ErrCorrupt, source.ErrNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	switch r := f.(type) {
	case *os.File:
		defer f.Close()
		return source.OpenFile(r, 0, -1, m.opening.Files())
	case io.ReaderAt:
		return source.FromReaderAt(&fsFile{r, f, name}, st.Size()), nil
	}
	defer f.Close()
	if err := m.memory.Reserve(st.Size()); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, st.Size())) // which grows with what is there
	if err != nil {
		m.memory.Release(st.Size())
		return nil, err
	}
	r := source.FromBytes(b)
	r.SetOrigin("", name)
	return r, nil
}

// fsFile is a file that is read on demand until the model is closed.
type fsFile struct {
	io.ReaderAt
	file fs.File
	name string
}

func (f *fsFile) Path() string { return f.name }

func (f *fsFile) Cancel() { f.file.Close() }
