package load

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// spaces holds the files of a model other than its own: shards that were opened while
// parsing, and files that are opened when a tensor in them is first used. It implements
// driver.Dir.
type spaces struct {
	m         *Model
	own       file   // the Source of the model's own file
	dir       string // "" for none
	abs       string // absolute form of dir; set when needed
	top       string // Options.Root
	sibling   func(string) (*source.Region, error)
	entries   []driver.DirEntry       // of the directory, if it was listed before
	root      *os.Root                // while parsing
	list      *os.File                // the same directory, for listing
	files     []*space                // number - 1; fixed after parsing
	byName    map[string]driver.Space // while parsing
	reading   *source.Region          // while parsing: the last file that was opened
	frozen    bool                    // read-only after parsing
	structure structure
}

func (s *spaces) init(m *Model, c *Config) {
	s.m, s.own = m, file{Region: m.main, s: s}
	s.structure.memory = m.memory
	s.dir, s.top, s.sibling = c.Options.Dir, c.Options.Root, c.Sibling
	if s.dir == "" && c.Path != "" {
		s.dir = filepath.Dir(c.Path)
	}
}

// parsed ends parsing: no more spaces can be added.
func (s *spaces) parsed() {
	s.frozen = true
	s.structure.seal()
	if s.reading != nil {
		s.reading.Parsed()
		s.reading = nil
	}
	s.byName, s.entries = nil, nil
	if s.list != nil {
		s.list.Close()
		s.list = nil
	}
	if s.root != nil {
		s.root.Close()
		s.root = nil
	}
}

// grow makes room for n files.
func (s *spaces) grow(n int) {
	if s.byName == nil {
		s.files = slices.Grow(s.files, n)
		s.byName = make(map[string]driver.Space, n)
	}
}

// add appends a file and returns its Space.
func (s *spaces) add(f *space) driver.Space {
	s.grow(1)
	s.files = append(s.files, f)
	f.Model, f.number = s.m, driver.Space(len(s.files))
	s.byName[f.name] = f.number
	return f.number
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

// known reports whether space n exists.
func (s *spaces) known(n driver.Space) bool { return uint64(n) <= uint64(len(s.files)) }

var errUnknown = fmt.Errorf("%w: the driver names a file that the model does not have", tensor.ErrCorrupt)

// openAll opens the files of a directory, and with declared all other files, if they exist.
func (s *spaces) openAll(declared bool) error {
	for _, f := range s.files {
		if f.id.Known() || declared && f.was != nil {
			if _, err := f.open(); err != nil {
				return explain(err, s.m.desc.Name, f.path())
			}
		}
	}
	return nil
}

// view makes a view of a tensor in another file, mapping the file if necessary. i is the index
// of the tensor, or negative if it is not in the index.
func (s *spaces) view(info *tensor.Info, n driver.Space, i int, owner memory.Owner[tensor.Info], v *tensor.View) (err error) {
	r := s.files[n-1].region.Load()
	if r == nil || info.Offset < 0 || info.Size > r.Size()-info.Offset {
		if r, err = s.enterRegion(n, i, info); err != nil {
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

// enterRegion is regionOf between Enter and Leave, for a file that may have to be mapped.
func (s *spaces) enterRegion(n driver.Space, i int, info *tensor.Info) (*source.Region, error) {
	if err := s.m.main.Enter(); err != nil {
		return nil, err
	}
	defer s.m.main.Leave()
	return s.regionOf(n, i, info.Name, info.Offset, info.Size)
}

// regionOf returns the region of a tensor's file, and checks that it contains the size bytes at
// off. i is as in view.
func (s *spaces) regionOf(n driver.Space, i int, name string, off, size int64) (*source.Region, error) {
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

// check returns an error for a range outside its file. The size of a declared file is
// checked when it is opened.
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

// holding returns the file whose memory contains an address, or nil.
func (s *spaces) holding(addr uintptr) *space {
	for _, f := range s.files {
		if r := f.region.Load(); r != nil && r.Holds(addr) {
			return f
		}
	}
	return nil
}

// regions iterates over the open files of the model.
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

// close releases all files. The caller has made sure that they are not in use.
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
