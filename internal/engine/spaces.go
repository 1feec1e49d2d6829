package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/cause"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// spaces are the files of a model other than its own: shards that were opened while
// parsing, and files that are opened when a tensor in them is first used. It is the
// driver.Dir of the model.
type spaces struct {
	m       *Model
	own     file                    // the driver's way to the model's own file
	dir     string                  // "" for none
	abs     string                  // the same, absolute; made when it is needed
	root    *os.Root                // while parsing
	list    *os.File                // the same, to be listed
	files   []*space                // number - 1; fixed after parsing
	byName  map[string]driver.Space // while parsing
	reading *source.Region          // while parsing: the last file that was opened
	frozen  bool                    // read only from here on
}

// file is a Source with a directory.
type file struct {
	*source.Region
	s *spaces
}

func (f *file) Path() string { return f.s.m.path }

// InMemory implements driver.Source. Bytes that another process may change are read, not
// lent, while they are parsed.
func (f *file) InMemory() bool { return f.Region.InMemory() && !f.parsing() }

// Slice implements driver.Source.
func (f *file) Slice(off, n int64) ([]byte, error) {
	if f.parsing() {
		return f.Copy(off, n)
	}
	return f.Region.Slice(off, n)
}

// parsing reports whether a mapped file is being parsed.
func (f *file) parsing() bool { return !f.s.frozen && f.Mapped() }

// Dir implements driver.Source.
func (f *file) Dir() (driver.Dir, error) {
	if f.s.dir == "" {
		return f.s, errNoDir
	}
	return f.s, nil
}

var errNoDir = fmt.Errorf("%w: a model that was not opened by path has no directory; set Options.Dir", driver.ErrUnsupported)

func (s *spaces) init(m *Model, c *Config) {
	s.m, s.own = m, file{m.main, s}
	s.dir = c.Dir
	if s.dir == "" && c.Path != "" {
		s.dir = filepath.Dir(c.Path)
	}
}

// parsed ends the time when spaces can be added.
func (s *spaces) parsed() {
	s.frozen = true
	if s.reading != nil {
		s.reading.Parsed()
		s.reading = nil
	}
	s.byName = nil
	if s.list != nil {
		s.list.Close()
		s.list = nil
	}
	if s.root != nil {
		s.root.Close()
		s.root = nil
	}
}

// space is one file, and the owner of the views of the tensors in it.
type space struct {
	*Model
	number driver.Space
	src    shard       // of a file that was opened while parsing
	name   string      // below the directory
	dir    string      // absolute where the file is opened later
	was    os.FileInfo // of a declared file, when it was declared
	id     source.ID   // instead, of one of which the beginning was read, where that has a call of its own
	peeked int64       // the size of a file of which the beginning was read
	why    error       // a declared file cannot be opened

	// later maps a file that was not opened while parsing. It is a field, set where such files
	// become known, so that programs whose formats have one file do not link what it takes.
	later func(*space) (*source.Region, error)

	mu     sync.Mutex
	region atomic.Pointer[source.Region]
	gone   bool
}

// Path implements driver.Dir.
func (s *spaces) Path() string { return s.dir }

// Entries implements driver.Dir.
func (s *spaces) Entries() ([]driver.DirEntry, error) {
	if s.frozen {
		return nil, errFrozen
	}
	dir, err := s.directory()
	if err != nil {
		return nil, err
	}
	list, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	// Sorted by their numbers: a sort of these would be another in the program, of 15 kB.
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(list[a].Name(), list[b].Name()) })
	entries := make([]driver.DirEntry, len(list))
	for i, at := range order {
		e := list[at]
		entries[i] = driver.DirEntry{Name: e.Name(), Regular: e.Type().IsRegular()}
		if e.Type()&os.ModeSymlink != 0 {
			info, err := s.stat(e.Name())
			entries[i].Regular, entries[i].Err = err == nil && info.Mode().IsRegular(), err
		}
	}
	return entries, nil
}

// open returns the directory, which is kept open while parsing.
func (s *spaces) open() (*os.Root, error) {
	if s.dir == "" {
		return nil, errNoDir
	}
	if s.root == nil {
		root, err := openRoot(s.dir)
		if err != nil {
			return nil, err
		}
		s.root = root
	}
	return s.root, nil
}

// openRoot opens a directory.
func openRoot(dir string) (*os.Root, error) { return os.OpenRoot(itself(dir)) }

// itself is a path that cannot be anything but a directory, so that opening it does not
// wait for the other end of a pipe that took the place of one.
func itself(dir string) string { return dir + string(filepath.Separator) + "." }

// stat looks at a file below the directory.
func (s *spaces) stat(name string) (os.FileInfo, error) {
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(filepath.FromSlash(name))
	return info, escapes(err)
}

// escapes marks what os.Root refuses, as opposed to what the system does.
func escapes(err error) error {
	if p, ok := cause.Of[*os.PathError](err); ok && strings.HasPrefix(p.Err.Error(), "path escapes") {
		return fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)
	}
	return err
}

// grow makes room for n files: most of a directory's are usually opened.
func (s *spaces) grow(n int) {
	if s.byName == nil {
		s.files = slices.Grow(s.files, n)
		s.byName = make(map[string]driver.Space, n)
	}
}

// add numbers a file.
func (s *spaces) add(f *space) driver.Space {
	s.grow(1)
	s.files = append(s.files, f)
	f.Model, f.number = s.m, driver.Space(len(s.files))
	s.byName[f.name] = f.number
	return f.number
}

var errFrozen = errors.New("the directory of a model is open only while it is parsed")

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
	f := &space{name: name, dir: s.dir, src: shard{file{r, s}, path}}
	f.region.Store(r)
	return &f.src, s.add(f), nil
}

// shard is the Source of another file than the model's own.
type shard struct {
	file
	path string
}

func (s *shard) Path() string { return s.path }

// mapNow maps a file of the directory. A plain entry is mapped by its name, which
// spares opening it twice; whatever links are on the way to another is resolved
// below the directory.
func (s *spaces) mapNow(name, path string) (*source.Region, error) {
	if s.dir == "" {
		return nil, errNoDir
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
	return mapBelow(root, name, path, s.m, func(os.FileInfo) error { return nil })
}

// isEntry reports whether a name is that of an entry of the directory itself. Only Windows
// has others that lead elsewhere without a separator.
func isEntry(name string) bool {
	return name != "" && name != "." && name != ".." && strings.IndexByte(name, '/') < 0 && strings.IndexByte(name, '\\') < 0 &&
		(runtime.GOOS != "windows" || filepath.IsLocal(name))
}

// read holds one file open to be parsed: of many, the one before is parsed already.
func (s *spaces) read(r *source.Region) {
	if s.reading != nil {
		s.reading.Parsed()
	}
	s.reading = r
}

// testHookLooked is called between looking at a file and opening it.
var testHookLooked func()

// mapBelow maps a regular file below root, if check agrees with what was opened.
func mapBelow(root *os.Root, name, path string, m *Model, check func(os.FileInfo) error) (*source.Region, error) {
	f, info, err := openBelow(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := check(info); err != nil {
		return nil, err
	}
	r, err := source.OpenFile(f, 0, -1, m.mapping)
	if err != nil {
		return nil, err
	}
	if r.Copied() { // what was copied is what was checked
		if info, err = f.Stat(); err == nil {
			err = check(info)
		}
		if err != nil {
			r.Close()
			return nil, err
		}
	}
	r.SetOrigin(m.desc.Name, path)
	return r, nil
}

// openBelow opens a regular file below root. It looks before it opens, since a device may
// notice, and does not wait for the other end of a pipe that took its place in between.
func openBelow(root *os.Root, name string) (*os.File, os.FileInfo, error) {
	local := filepath.FromSlash(name)
	info, err := root.Stat(local)
	if err != nil {
		return nil, nil, escapes(err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%w: %w", tensor.ErrCorrupt, source.ErrNotRegular)
	}
	if testHookLooked != nil {
		testHookLooked()
	}
	f, err := root.OpenFile(local, os.O_RDONLY|source.NoWait, 0)
	if err != nil {
		return nil, nil, escapes(err)
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %w", tensor.ErrCorrupt, source.ErrNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// same refuses a file that is not the one that was declared: it compares device,
// inode, size and time of the last change.
func (f *space) same(now os.FileInfo) error {
	switch was := f.was; {
	case was == nil:
		return fmt.Errorf("%w: the file was not there when the model was opened", tensor.ErrCorrupt)
	case !os.SameFile(was, now) || was.Size() != now.Size() || !was.ModTime().Equal(now.ModTime()):
		return source.ErrReplaced
	}
	return nil
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
	if strings.HasSuffix(name, "/") {
		f.why = fmt.Errorf("%w: %w", tensor.ErrCorrupt, source.ErrNotRegular)
	} else {
		f.was, f.why = s.stat(name)
	}
	return s.add(f), nil
}

// laterDir returns the directory in a form that holds when the program has moved to
// another one.
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
	return &shard{file{r, s}, s.files[n-1].path()}, nil
}

// region returns the memory of a space.
func (s *spaces) region(n driver.Space) (*source.Region, error) {
	if n == 0 {
		return s.m.main, nil
	}
	if !s.known(n) {
		return nil, errUnknown
	}
	return s.files[n-1].open()
}

// known reports whether there is a space of that number.
func (s *spaces) known(n driver.Space) bool { return uint64(n) <= uint64(len(s.files)) }

var errUnknown = fmt.Errorf("%w: the driver names a file that the model does not have", tensor.ErrCorrupt)

func (f *space) path() string { return filepath.Join(f.dir, filepath.FromSlash(f.name)) }

// open maps the file unless it is mapped already.
func (f *space) open() (*source.Region, error) {
	if r := f.region.Load(); r != nil {
		return r, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.region.Load(); r != nil {
		return r, nil
	}
	if f.gone {
		return nil, tensor.ErrClosed
	}
	r, err := f.later(f)
	if err != nil && f.id.Known() {
		return nil, err // which names the file
	}
	if err != nil {
		return nil, f.external(err)
	}
	if f.spaces.frozen { // else it is done when parsing has ended
		if err := f.hold(context.Background(), r); err != nil {
			r.Close()
			return nil, err
		}
	}
	f.region.Store(r)
	return r, nil
}

// openAll opens the files that are there and were not needed yet.
func (s *spaces) openAll() error {
	for _, f := range s.files {
		if f.id.Known() || f.was != nil && s.m.mapping.Private {
			if _, err := f.open(); err != nil {
				return explain(err, s.m.desc.Name, f.path())
			}
		}
	}
	return nil
}

// mapLater maps a declared file, if it is still the one that was declared.
func (f *space) mapLater() (*source.Region, error) {
	if f.why != nil && !errors.Is(f.why, os.ErrNotExist) {
		return nil, fmt.Errorf("when the model was opened: %w", f.why)
	}
	if f.id.Known() {
		o := f.mapping
		o.NoLink, o.Same = true, f.id
		r, err := source.Open(f.path(), o)
		if errors.Is(err, source.ErrNotRegular) {
			return nil, fmt.Errorf("%w: %w", source.ErrReplaced, err)
		}
		if err == nil {
			r.SetOrigin(f.desc.Name, f.path())
		}
		return r, err
	}
	root, err := openRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return mapBelow(root, f.name, f.path(), f.Model, f.same)
}

// View implements driver.Dir.
func (s *spaces) View(n driver.Space, info *tensor.Info) (v tensor.View) {
	if n == 0 || !s.known(n) {
		v, _ = failed(info, explainTensor(info, errUnknown, s.m.desc.Name, s.m.path))
		return v
	}
	_ = s.view(info, n, -1, loose{s.files[n-1]}, &v)
	return v
}

// view makes the view of a tensor in another file, which is mapped now. It is tensor i
// of the index, or none of them if that is negative.
func (s *spaces) view(info *tensor.Info, n driver.Space, i int, owner memory.Owner[tensor.Info], v *tensor.View) (err error) {
	r := s.files[n-1].region.Load()
	if r == nil || info.Offset < 0 || info.Size > r.Size()-info.Offset {
		if r, err = s.enterHome(n, i, info); err != nil {
			*v, err = failed(info, err)
			return err
		}
	}
	var data []byte
	if mem := r.Bytes(); mem != nil {
		data = mem[info.Offset:][:info.Size:info.Size]
	}
	*v = tensor.View(memory.New(info, owner, data))
	return nil
}

// enterHome is home for a file that may have to be mapped: Close waits meanwhile.
func (s *spaces) enterHome(n driver.Space, i int, info *tensor.Info) (*source.Region, error) {
	if err := s.m.main.Enter(); err != nil {
		return nil, err
	}
	defer s.m.main.Leave()
	return s.home(n, i, info.Name, info.Offset, info.Size)
}

// loose owns tensors in other files that are not in the index: no sum is checked
// before their first use, and copies of misaligned ones are not kept.
type loose struct{ *space }

// Enter implements memory.Owner.
func (l loose) Enter(*tensor.Info) error { return l.main.Enter() }

// Lend implements memory.Owner.
func (l loose) Lend(*tensor.Info) error { return errors.Join(l.main.Lend(), l.region.Load().Lend()) }

// Ranged implements memory.Owner.
func (l loose) Ranged(*tensor.Info) bool { return !l.region.Load().InMemory() }

// Load implements memory.Owner.
func (l loose) Load(info *tensor.Info) ([]byte, error) {
	r := l.region.Load()
	b, err := r.Slice(info.Offset, info.Size)
	if err != nil || !r.InMemory() {
		return b, err
	}
	return append(memory.Aligned(len(b))[:0], b...), nil
}

// home returns the memory of the file that so many bytes of a tensor are in, and
// checks that they are. i is as in view.
func (s *spaces) home(n driver.Space, i int, name string, off, size int64) (*source.Region, error) {
	r, err := s.region(n)
	if err == nil && (off < 0 || off > r.Size() || size > r.Size()-off) {
		err = fmt.Errorf("%w: %d bytes at %d of a file of %d", tensor.ErrTruncated, size, off, r.Size())
		if n > 0 {
			err = s.files[n-1].external(err)
		}
	}
	if err != nil && n > 0 {
		err = &tensor.Error{Format: s.m.desc.Name, Path: s.m.path, Field: tensorField(name), Offset: s.m.recordAt(i), Err: err}
	}
	return r, err
}

// external names the file in an error.
func (f *space) external(err error) error { return fmt.Errorf("external data %.200q: %w", f.name, err) }

// check refuses ranges outside of the file that they are in. How large a file
// is that was only declared is looked at when it is opened.
func (s *spaces) check(n driver.Space, off, size int64) error {
	total := int64(math.MaxInt64)
	if n == 0 {
		total = s.m.main.Size()
	} else if f := s.files[n-1]; f.id.Known() {
		total = f.id.Size()
	} else if r := f.region.Load(); r != nil {
		total = r.Size()
	}
	if off < 0 || size > total-off { // a size is never negative
		return fmt.Errorf("%w: the driver says that it is at %d to %d of %d bytes", tensor.ErrTruncated, off, off+size, total)
	}
	return nil
}

// holding returns the file whose memory an address lies in.
func (s *spaces) holding(addr uintptr) *space {
	for _, f := range s.files {
		if r := f.region.Load(); r != nil && r.Holds(addr) {
			return f
		}
	}
	return nil
}

// regions walks the files of the model that are open.
func (m *Model) regions() iter.Seq[*source.Region] {
	return func(yield func(*source.Region) bool) {
		if !yield(m.main) {
			return
		}
		for _, f := range m.spaces.files {
			if r := f.region.Load(); r != nil && !yield(r) {
				return
			}
		}
	}
}

// close gives all files back. The gate has made sure that nobody uses them.
func (s *spaces) close() error {
	var errs []error
	for _, f := range s.files {
		f.mu.Lock()
		f.gone = true
		r := f.region.Load()
		f.mu.Unlock()
		if r == nil {
			continue
		}
		if err := r.Close(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Lend implements memory.Owner: two files must outlive the slice.
func (f *space) Lend(info *tensor.Info) error {
	if err := f.Model.Lend(info); err != nil {
		return err
	}
	return f.region.Load().Lend()
}

// Load implements memory.Owner.
func (f *space) Load(info *tensor.Info) ([]byte, error) { return f.load(f.region.Load(), info) }

// Ranged implements memory.Owner.
func (f *space) Ranged(info *tensor.Info) bool { return f.ranged(f.region.Load(), info) }

// ReadAt implements memory.Owner.
func (f *space) ReadAt(ctx context.Context, info *tensor.Info, p []byte, off int64) error {
	_, err := f.region.Load().ReadAtContext(ctx, p, info.Offset+off)
	return err
}

// Explain implements memory.Owner.
func (f *space) Explain(info *tensor.Info, err error) error {
	return explainTensor(info, err, f.desc.Name, f.path())
}
