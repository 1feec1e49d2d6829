package format

import (
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// input is the Source of a file.
type input struct {
	*source.Region
	f *file
}

// Path implements driver.Source.
func (in *input) Path() string {
	if !in.f.of.c.hasOthers() {
		return ""
	}
	return in.f.path()
}

// InMemory implements driver.Source. During parsing bytes are copied and recorded; bytes of a
// sealed file are always copied.
func (in *input) InMemory() bool {
	return in.Region.InMemory() && in.f.of.frozen && !in.Region.Sealed()
}

// Slice implements driver.Source.
func (in *input) Slice(off, n int64) ([]byte, error) {
	if in.f.of.frozen {
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
	if in.f.of.frozen {
		return nil
	}
	return in.f.of.structure.Add(uint32(in.f.number), b, off)
}

// ReadAgain implements driver.Source.
func (in *input) ReadAgain(p []byte, off int64) (int, error) {
	err := in.Region.Check(off, int64(len(p)))
	if err != nil {
		return 0, err
	}
	s := in.f.of
	n := 0
	again := &pass.Pass{}
	defer again.Close()
	r := pass.Range{File: in.Region, Offset: off, Size: int64(len(p))}
	changed := s.changed(in.Region.Path())
	err = again.Recorded(r, s.structure.Of(uint32(in.f.number)), changed, func(b []byte) error {
		n += copy(p[n:], b)
		return nil
	})
	return n, err
}

// changed returns a function that returns the error for structure of the file at a path that is not
// what Parse has read.
func (s *spaces) changed(path string) func(p *pass.Recorded) error {
	return func(p *pass.Recorded) error {
		why := fmt.Errorf("%w: changed since the file was opened", tensor.ErrCorrupt)
		return &tensor.Error{
			Format: s.format, Path: path, Field: "header", Offset: p.Offset, Err: why,
		}
	}
}

// Dir implements driver.Source.
func (in *input) Dir() (driver.Dir, error) {
	s := in.f.of
	if !in.f.of.c.hasOthers() {
		return s, errNoDir
	}
	return s, nil
}

// Path implements driver.Dir.
func (s *spaces) Path() string { return s.door().Path("") }

// Entries implements driver.Dir.
func (s *spaces) Entries() ([]driver.DirEntry, error) {
	if s.frozen {
		return nil, errFrozen
	}
	return s.door().Entries()
}

// Open implements driver.Dir.
func (s *spaces) Open(name string) (driver.Source, driver.Space, error) {
	n, ok := s.byName[name]
	if !ok {
		r, err := s.open(name)
		if err != nil {
			return nil, 0, err
		}
		s.read(r)
		f := &file{name: name}
		f.region.Store(r)
		n = s.add(f)
	}
	r, err := s.region(n)
	return &input{r, s.files[n]}, n, err
}

// Expect implements driver.Dir.
func (s *spaces) Expect(names []string) {
	t := s.c.trust
	// What comes from a reader is fetched for each opening, and private files are read for each.
	if t == nil || s.frozen || len(names) < 2 || s.door().isLazy() || s.c.options.Private {
		return
	}
	s.isUsed = true
	t.compareAhead(s.door(), names)
}

// Peek implements driver.Dir.
func (s *spaces) Peek(name string, p []byte) (n int, size int64, _ driver.Space, err error) {
	if s.frozen {
		return 0, 0, 0, errFrozen
	}
	if s.c.trust != nil || s.c.options.Private { // it is hashed, or read whole, before anything of it is used
		src, space, err := s.Open(name)
		if err != nil {
			return 0, 0, 0, err
		}
		n, err := src.ReadAt(p[:min(int64(len(p)), src.Size())], 0)
		return n, src.Size(), space, err
	}
	s.isUsed = true
	s.door().Settle()
	h, err := s.door().open(name)
	if err != nil {
		return 0, 0, 0, err
	}
	n, isWhole, err := h.readHead(p)
	if err != nil {
		h.close()
		return 0, 0, 0, err
	}
	f := &file{name: name, size: h.size}
	space := s.add(f)
	f.keep(h, isWhole)
	return n, f.size, space, s.structure.Add(uint32(space), p[:n], 0)
}

// fileBytes is the memory of a declared file besides its name: here and in lists of the format.
const fileBytes = 400

// Declare implements driver.Dir.
func (s *spaces) Declare(name string) (driver.Space, error) {
	if s.frozen {
		return 0, errFrozen
	}
	if n, ok := s.byName[name]; ok {
		return n, nil
	}
	s.isUsed = true
	s.door().Settle()
	err := s.c.parse.Memory.Reserve(fileBytes + 2*int64(len(name)))
	if err != nil {
		return 0, err
	}
	f := &file{of: s, name: name}
	err = f.declare()
	if err != nil {
		return 0, err // otherwise a replaced file could not be detected
	}
	return s.add(f), nil
}

// View implements driver.Dir.
func (s *spaces) View(n driver.Space, info *tensor.Info) tensor.View {
	if n == 0 || !s.known(n) {
		return s.views.lend(nil, info)
	}
	info.File = int(n)
	return s.views.lend(s.files[n], info)
}

// Compare implements driver.Source.
func (in *input) Compare(s *driver.Sum, b []byte, off int64) (form int, err error) {
	if !in.f.of.c.parse.CheckSums || len(s.Accept) == 0 {
		return -1, nil
	}
	form, err = checksum.CompareMemory(b, off, s)
	if err != nil {
		return 0, wire.Place(err, "", in.f.path(), "")
	}
	return form, nil
}
