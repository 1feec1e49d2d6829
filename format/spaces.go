package format

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// spaces holds the files of a model other than its own: shards that were opened while
// parsing, and files that are opened when a tensor in them is first used. It implements
// driver.Dir.
type spaces struct {
	m         *Model
	own       file                    // the model's own file: the first of files
	others    door                    // where the others come from, nil until it is used
	kept      int                     // number of declared files that are open
	isUsed    bool                    // another file was opened or declared
	files     []*file                 // by number; fixed after parsing
	one       [1]*file                // memory of files for most models
	byName    map[string]driver.Space // while parsing
	reading   *source.Region          // while parsing: the last file that was opened
	frozen    bool                    // read-only after parsing
	structure pass.Record             // what Parse has read
}

// door returns where the other files of the model come from.
func (s *spaces) door() door {
	if s.others == nil {
		s.others = s.m.c.others()
	}
	return s.others
}

// endParsing ends parsing: no more spaces can be added.
func (s *spaces) endParsing() {
	s.frozen = true
	s.structure.Seal()
	s.read(nil)
	s.byName = nil
	if s.others != nil {
		s.others.Close()
	}
}

// add appends a file and returns its Space.
func (s *spaces) add(f *file) driver.Space {
	if s.byName == nil {
		s.byName = make(map[string]driver.Space)
	}
	f.Model, f.number = s.m, driver.Space(len(s.files))
	s.files = append(s.files, f)
	s.byName[f.name] = f.number
	return f.number
}

// region returns the memory of a space.
func (s *spaces) region(n driver.Space) (*source.Region, error) {
	if !s.known(n) {
		return nil, errUnknown
	}
	return s.files[n].open()
}

// known reports whether space n exists.
func (s *spaces) known(n driver.Space) bool { return uint64(n) < uint64(len(s.files)) }

var errUnknown = fmt.Errorf("%w: the driver names a file that the model does not have", tensor.ErrCorrupt)

// openAll opens the files that were declared, if they exist.
func (s *spaces) openAll(ctx context.Context) error {
	for _, f := range s.files[1:] {
		if err := ctx.Err(); err != nil {
			return s.m.explain(err)
		}
		if f.state == present {
			if _, err := f.openContext(ctx); err != nil {
				return wire.Place(err, s.m.desc.Name, f.path(), "")
			}
		}
	}
	return nil
}

// readAll opens the files that were declared, also siblings of a reader, unless they are missing.
func (s *spaces) readAll() error {
	for _, f := range s.files[1:] {
		if f.why != nil {
			continue // the error of its first use
		}
		_, err := f.open()
		if errors.Is(err, fs.ErrNotExist) {
			f.why, f.state = err, absent
			continue
		}
		if err != nil {
			return wire.Place(err, s.m.desc.Name, f.path(), "")
		}
	}
	return nil
}

// holding returns the file whose memory contains an address, or nil.
func (s *spaces) holding(addr uintptr) *file {
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
		for _, f := range m.spaces.files {
			if r := f.region.Load(); r != nil && !yield(r) {
				return
			}
		}
	}
}

// close releases all files. The caller has made sure that they are not in use.
func (s *spaces) close() (err error) {
	for _, f := range s.files[1:] {
		f.mu.Lock()
		f.gone = true
		if f.kept != nil {
			f.kept.close()
			f.kept = nil
		}
		r := f.region.Load()
		f.mu.Unlock()
		if r != nil {
			err = errors.Join(err, r.Close())
		}
	}
	return err
}
