package load

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// input is the Source of a file.
type input struct {
	*source.Region
	f *file
}

// Path implements driver.Source.
func (in *input) Path() string {
	if _, err := in.Dir(); err != nil {
		return ""
	}
	return in.f.path()
}

// InMemory implements driver.Source. During parsing bytes are copied and recorded; bytes of a sealed file are always copied.
func (in *input) InMemory() bool {
	return in.Region.InMemory() && in.f.spaces.frozen && !in.Region.Sealed()
}

// Slice implements driver.Source.
func (in *input) Slice(off, n int64) ([]byte, error) {
	if in.f.spaces.frozen {
		return in.Region.Slice(off, n)
	}
	b, err := in.Copy(off, n)
	if err == nil {
		err = in.Record(b, off)
	}
	return b, err
}

// ReadAt implements driver.Source.
func (in *input) ReadAt(p []byte, off int64) (int, error) {
	n, err := in.Region.ReadAt(p, off)
	if err := in.Record(p[:n], off); err != nil {
		return 0, err
	}
	return n, err
}

// ReadAhead implements driver.Source.
func (in *input) ReadAhead(p []byte, off int64) (int, error) { return in.Region.ReadAt(p, off) }

// Record implements driver.Source.
func (in *input) Record(b []byte, off int64) error {
	if in.f.spaces.frozen {
		return nil
	}
	return in.f.spaces.structure.add(in.f.number, b, off)
}

// Dir implements driver.Source.
func (in *input) Dir() (driver.Dir, error) {
	s := &in.f.spaces
	if s.dir == "" && s.m.c.Sibling == nil {
		return s, errNoDir
	}
	return s, nil
}

var errNoDir = fmt.Errorf("%w: a model that was not opened by path has no directory; set Options.Dir", driver.ErrUnsupported)

var errFrozen = errors.New("the directory of a model is open only while it is parsed")

// Path implements driver.Dir.
func (s *spaces) Path() string { return s.dir }

// Entries implements driver.Dir.
func (s *spaces) Entries() ([]driver.DirEntry, error) {
	if s.entries != nil {
		return s.entries, nil
	}
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	entries := make([]driver.DirEntry, len(list))
	for i, e := range list {
		entries[i] = driver.DirEntry{Name: e.Name(), Regular: e.Type().IsRegular()}
		if e.Type()&os.ModeSymlink != 0 {
			_, err := s.stat(e.Name())
			if entries[i].Regular = err == nil; !errors.Is(err, errIrregular) {
				entries[i].Err = err
			}
		}
	}
	return entries, nil
}

// Directory is a directory that may contain a model. Its links may lead where those of a model may.
type Directory = spaces

// OpenDirectory returns the directory at a path.
func OpenDirectory(path string, c *Config) *Directory { return &spaces{m: &Model{c: c}, dir: path} }

// Open implements driver.Dir.
func (s *spaces) Open(name string) (driver.Source, driver.Space, error) {
	n, ok := s.byName[name]
	if !ok {
		r, err := s.Map(name)
		if err != nil {
			return nil, 0, err
		}
		f := &file{name: name}
		f.region.Store(r)
		n = s.add(f)
	}
	r, err := s.region(n)
	return &input{r, s.files[n]}, n, err
}

// Map maps a file of the directory to parse it.
func (s *spaces) Map(name string) (*source.Region, error) {
	if s.dir == "" && !s.frozen {
		return s.openSibling(name)
	}
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	o := s.m.c.Files()
	o.Parse = true
	r, err := s.mapBelow(root, name, o, func(os.FileInfo) error { return nil })
	if err == nil {
		s.read(r)
	}
	return r, err
}

// openSibling opens another file of a model without a directory.
func (s *spaces) openSibling(name string) (*source.Region, error) {
	if s.m.c.Sibling == nil {
		return nil, errNoDir
	}
	r, err := s.m.c.Sibling(name)
	if err != nil {
		return nil, err
	}
	r.SetOrigin(s.m.desc.Name, r.Path())
	if !s.frozen {
		s.read(r)
	}
	return r, nil
}

// read makes r the file that is open for parsing, and ends parsing of the previous one.
func (s *spaces) read(r *source.Region) {
	if s.reading != nil {
		s.reading.Parsed()
	}
	s.reading = r
}

// Peek implements driver.Dir.
func (s *spaces) Peek(name string, p []byte) (n int, size int64, _ driver.Space, err error) {
	root, err := s.open()
	if err != nil {
		return 0, 0, 0, err
	}
	s.later()
	from, info, err := s.openBelow(root, name)
	if err != nil {
		return 0, 0, 0, err
	}
	defer from.Close()
	if n, err = from.ReadAt(p, 0); err != nil && err != io.EOF {
		return 0, 0, 0, err
	}
	space := s.add(&file{name: name, later: (*file).mapLater, was: info, size: info.Size()})
	return n, info.Size(), space, s.structure.add(space, p[:n], 0)
}

// Declare implements driver.Dir.
func (s *spaces) Declare(name string) (driver.Space, error) {
	if s.frozen {
		return 0, errFrozen
	}
	if n, ok := s.byName[name]; ok {
		return n, nil
	}
	s.later()
	f := &file{name: name, later: (*file).mapLater}
	switch {
	case s.dir == "" && s.m.c.Sibling != nil:
	case strings.HasSuffix(name, "/"):
		f.why = errIrregular
	default:
		f.was, f.why = s.stat(name)
	}
	if passes(f.why) {
		return 0, f.why // otherwise a replaced file could not be detected
	}
	return s.add(f), nil
}

// passes reports whether an error is a passing state of the system, not a property of the file.
func passes(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EIO)
}

// later prepares for opening files when the program may have changed its working directory.
func (s *spaces) later() {
	if s.abs == "" && s.dir != "" {
		s.abs, _ = filepath.Abs(s.dir)
	}
}

// View implements driver.Dir.
func (s *spaces) View(n driver.Space, info *tensor.Info) (v tensor.View) {
	if n == 0 || !s.known(n) {
		v, _ = failed(info, s.m.about(info.Name, info.Offset, errUnknown))
		return v
	}
	return tensor.View(memory.New[tensor.Info](info, unlisted{s.files[n]}, nil))
}
