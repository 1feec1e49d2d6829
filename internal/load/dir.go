package load

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// file is the Source of the model's own file.
type file struct {
	*source.Region
	s      *spaces
	number driver.Space
}

func (f *file) Path() string { return f.s.m.Path() }

// Name returns the file's name in its directory, also for a reader; "" if there is no directory.
func (f *file) Name() string {
	if f.s.dir == "" && f.s.sibling == nil {
		return ""
	}
	return f.s.m.path
}

// InMemory implements driver.Source. During parsing bytes are copied and recorded.
func (f *file) InMemory() bool { return f.Region.InMemory() && f.s.frozen }

// Slice implements driver.Source.
func (f *file) Slice(off, n int64) ([]byte, error) {
	if f.s.frozen {
		return f.Region.Slice(off, n)
	}
	b, err := f.Copy(off, n)
	if err == nil {
		err = f.Record(b, off)
	}
	return b, err
}

// ReadAt implements driver.Source.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.Region.ReadAt(p, off)
	if err := f.Record(p[:n], off); err != nil {
		return 0, err
	}
	return n, err
}

// ReadAhead implements driver.Source.
func (f *file) ReadAhead(p []byte, off int64) (int, error) { return f.Region.ReadAt(p, off) }

// Record implements driver.Source.
func (f *file) Record(b []byte, off int64) error {
	if f.s.frozen {
		return nil
	}
	return f.s.structure.add(f.number, b, off)
}

// Dir implements driver.Source.
func (f *file) Dir() (driver.Dir, error) {
	if f.s.dir == "" && f.s.sibling == nil {
		return f.s, errNoDir
	}
	return f.s, nil
}

var errNoDir = fmt.Errorf("%w: a model that was not opened by path has no directory; set Options.Dir", driver.ErrUnsupported)

var errFrozen = errors.New("the directory of a model is open only while it is parsed")

// Path implements driver.Dir.
func (s *spaces) Path() string { return s.dir }

// Entries implements driver.Dir.
func (s *spaces) Entries() ([]driver.DirEntry, error) {
	if s.frozen {
		return nil, errFrozen
	}
	if s.entries != nil {
		return s.entries, nil
	}
	dir, err := s.directory()
	if err != nil {
		return nil, err
	}
	list, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	entries := make([]driver.DirEntry, len(list))
	for i, e := range list {
		entries[i] = driver.DirEntry{Name: e.Name(), Regular: e.Type().IsRegular()}
		if e.Type()&os.ModeSymlink != 0 {
			info, err := s.stat(e.Name())
			entries[i].Regular, entries[i].Err = err == nil && info.Mode().IsRegular(), err
		}
	}
	return entries, nil
}

// Directory is a directory that may contain a model. Its links may lead where those of a model may.
type Directory struct{ s spaces }

// OpenDirectory returns the directory at a path; o and root are as in Config.
func OpenDirectory(path, root string, o source.Options) *Directory {
	return &Directory{spaces{m: &Model{mapping: o}, dir: path, top: root}}
}

// Entries lists the directory, sorted by name.
func (d *Directory) Entries() ([]driver.DirEntry, error) { return d.s.Entries() }

// Open maps a file.
func (d *Directory) Open(name string) (*source.Region, error) {
	return d.s.mapNow(name, filepath.Join(d.s.dir, name))
}

// Close releases the directory.
func (d *Directory) Close() { d.s.parsed() }

// Open implements driver.Dir.
func (s *spaces) Open(name string) (driver.Source, driver.Space, error) {
	if s.frozen {
		return nil, 0, errFrozen
	}
	if n, ok := s.byName[name]; ok {
		src, err := s.OpenSpace(n)
		return src, n, err
	}
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	r, err := s.mapNow(name, path)
	if err != nil {
		return nil, 0, err
	}
	_, path = r.Origin()
	f := &space{name: name, dir: s.dir, src: shard{file{Region: r, s: s}, path}}
	f.region.Store(r)
	n := s.add(f)
	f.src.number = n
	src, err := s.OpenSpace(n)
	return src, n, err
}

// shard is the Source of any other file of the model.
type shard struct {
	file
	path string
}

func (s *shard) Path() string { return s.path }

// mapNow maps a file of the directory. An entry of the directory itself is mapped by its
// name, to open it only once; links on the way to other files are resolved below the
// directory.
func (s *spaces) mapNow(name, path string) (*source.Region, error) {
	if s.dir == "" {
		return s.openSibling(name)
	}
	if isEntry(name) {
		o := s.m.mapping
		o.NoLink, o.Parse = true, true
		r, err := source.Open(path, o)
		if err == nil {
			r.SetOrigin(s.m.desc.Name, path)
			s.read(r)
		}
		if !errors.Is(err, source.ErrNotRegular) {
			return r, err
		}
	}
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	return s.mapBelow(root, s.dir, name, path, func(os.FileInfo) error { return nil })
}

// openSibling opens another file of a model without a directory.
func (s *spaces) openSibling(name string) (*source.Region, error) {
	if s.sibling == nil {
		return nil, errNoDir
	}
	r, err := s.sibling(name)
	if err != nil {
		return nil, err
	}
	_, path := r.Origin()
	r.SetOrigin(s.m.desc.Name, path)
	if !s.frozen {
		s.read(r)
	}
	return r, nil
}

// isEntry reports whether name is an entry of the directory itself. On Windows, names without
// a separator may lead elsewhere.
func isEntry(name string) bool {
	return name != "" && name != "." && name != ".." && strings.IndexByte(name, '/') < 0 && strings.IndexByte(name, '\\') < 0 &&
		(runtime.GOOS != "windows" || filepath.IsLocal(name))
}

// read makes r the file that is open for parsing, and ends parsing of the previous one.
func (s *spaces) read(r *source.Region) {
	if s.reading != nil {
		s.reading.Parsed()
	}
	s.reading = r
}

// Declare implements driver.Dir.
func (s *spaces) Declare(name string) (driver.Space, error) {
	if s.frozen {
		return 0, errFrozen
	}
	if n, ok := s.byName[name]; ok {
		return n, nil
	}
	f := &space{name: name, dir: s.laterDir(), later: (*space).mapLater}
	if s.dir == "" && s.sibling != nil {
		f.later = func(f *space) (*source.Region, error) { return f.spaces.openSibling(f.name) }
	} else if strings.HasSuffix(name, "/") {
		f.why = fmt.Errorf("%w: %w", tensor.ErrCorrupt, source.ErrNotRegular)
	} else if f.was, f.why = s.stat(name); passes(f.why) {
		return 0, f.why // otherwise a replaced file could not be detected
	}
	return s.add(f), nil
}

// passes reports whether an error is a passing state of the system, not a property of the file.
func passes(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EIO)
}

// laterDir returns the directory as a path that stays valid when the program changes its
// working directory.
func (s *spaces) laterDir() string {
	if s.abs == "" && s.dir != "" {
		s.abs = s.dir
		if abs, err := filepath.Abs(s.dir); err == nil {
			s.abs = abs
		}
	}
	return s.abs
}

// OpenSpace implements driver.Dir.
func (s *spaces) OpenSpace(n driver.Space) (driver.Source, error) {
	if n == 0 {
		return &s.own, nil
	}
	r, err := s.region(n)
	if err != nil {
		return nil, err
	}
	f := s.files[n-1]
	src := &f.src
	if src.Region == nil {
		src = &shard{file{r, s, n}, f.path()}
	}
	return src, nil
}

// View implements driver.Dir.
func (s *spaces) View(n driver.Space, info *tensor.Info) (v tensor.View) {
	if n == 0 || !s.known(n) {
		v, _ = failed(info, explainTensor(info, errUnknown, s.m.desc.Name, s.m.path))
		return v
	}
	return tensor.View(memory.New(info, memory.Owner[tensor.Info](loose{s.files[n-1], n}), nil))
}
