package format

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

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
	c         *config
	format    string                  // the name of the format
	views     lender                  // of the model
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

// lender lends views of tensors that are not in the index: the model that is parsed. f is nil for a
// file that the model does not have.
type lender interface {
	lend(f *file, info *tensor.Info) tensor.View
}

// file is a file of the model: its own, number 0, or another one.
type file struct {
	of     *spaces
	number driver.Space
	name   string // relative to the directory

	// Of a file that was declared while parsing.
	state state
	seen  source.Stamp // if it was present
	plain bool         // it was present, and its name is not that of a link
	kept  *handle      // the open file until it is used, nil if more than mostKept are
	size  int64        // 0 if unknown
	why   error        // why it could not be opened

	mu     sync.Mutex
	region atomic.Pointer[source.Region]
	gone   bool
}

// door returns where the other files of the model come from.
func (s *spaces) door() door {
	if s.others == nil {
		s.others = s.c.others()
	}
	return s.others
}

// hold keeps the directory of the other files open until release, so that many can be opened.
func (s *spaces) hold() {
	if len(s.files) > 1 {
		s.door().Hold()
	}
}

// release ends what hold began.
func (s *spaces) release() {
	if len(s.files) > 1 {
		s.door().Close()
	}
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
	f.of = s
	f.number = driver.Space(len(s.files))
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

// openAll opens the files that were declared, if they exist. Its errors may lack format and path.
func (s *spaces) openAll(ctx context.Context) error {
	s.hold()
	defer s.release()
	for _, f := range s.files[1:] {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.state == present {
			if _, err := f.openContext(ctx); err != nil {
				return wire.Place(err, s.format, f.path(), "")
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
			f.why = err
			f.state = absent
			continue
		}
		if err != nil {
			return wire.Place(err, s.format, f.path(), "")
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

// open opens another file of the model while that is parsed.
func (s *spaces) open(name string) (*source.Region, error) {
	if s.frozen {
		return nil, errFrozen
	}
	s.isUsed = true
	door := s.door()
	h, err := door.open(name)
	if err != nil {
		return nil, err
	}
	return s.c.region(name, door.Path(name), h, true)
}

var errFrozen = errors.New("the directory of a model is open only while it is parsed")

// read makes r the file that is open for parsing, and ends parsing of the previous one.
func (s *spaces) read(r *source.Region) {
	if s.reading != nil {
		s.reading.Parsed()
	}
	s.reading = r
}

// mostKept is the number of declared files of a model that stay open until they are first used.
const mostKept = 64

// state is what is known of a declared file.
type state uint8

const (
	unseen  state = iota // it is opened when it is first used
	present              // it was there when it was declared
	absent               // it was not
)

func (f *file) path() string {
	if r := f.region.Load(); r != nil {
		return r.Path()
	}
	return f.of.door().Path(f.name)
}

// open maps the file unless it is mapped already.
func (f *file) open() (*source.Region, error) { return f.openContext(context.Background()) }

// openContext is open with a context for reading the pages that Options.Lock keeps in memory.
func (f *file) openContext(ctx context.Context) (*source.Region, error) {
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
	r, err := f.openDeclared()
	if err != nil {
		return nil, f.external(err)
	}
	if f.of.frozen { // otherwise this happens after parsing
		if err := f.of.c.hold(ctx, r); err != nil {
			r.Close()
			return nil, err
		}
	}
	f.region.Store(r)
	return r, nil
}

// external adds the file's name to an error that lacks its path.
func (f *file) external(err error) error {
	e, ok := err.(*tensor.Error)
	if ok && e.Path != "" {
		return err
	}
	return fmt.Errorf("external data %.200q: %w", f.name, err)
}

// check returns an error for a range outside the file. The size of a declared file is
// checked when it is opened.
func (f *file) check(off, size int64) error {
	total := int64(math.MaxInt64)
	if r := f.region.Load(); r != nil {
		total = r.Size()
	} else if f.size > 0 {
		total = f.size
	}
	if off < 0 || size > total-off { // a size is never negative
		return fmt.Errorf("%w: the driver says that it is at %d to %d of %d bytes", tensor.ErrTruncated, off, off+size, total)
	}
	return nil
}

// declare looks at a file that is opened when it is first used, and keeps up to mostKept of them
// open.
func (f *file) declare() error {
	door := f.of.door()
	if door.isLazy() {
		return nil
	}
	h, err := door.open(f.name)
	if err == nil {
		f.keep(h, true)
		return nil
	}
	if isTransient(err) { // such as too many open files
		stamp, err := door.stamp(f.name)
		if err != nil {
			return err
		}
		f.state = present
		f.seen = stamp
		return nil
	}
	f.why = err
	if errors.Is(err, os.ErrNotExist) {
		f.state = absent
	}
	return nil
}

// keep makes h the file that was declared. isWhole reports that h can still be read from its
// beginning.
func (f *file) keep(h *handle, isWhole bool) {
	if h.info != nil {
		f.state = present
		f.seen = source.StampOf(h.info)
		f.plain = h.isNoLink()
	}
	if f.of.kept == mostKept || !isWhole {
		h.close()
		return
	}
	plain, ok := h.file.(*source.File)
	if ok {
		plain.Keep() // the model may be forgotten without Close
	}
	f.of.kept++
	f.kept = h
}

// isTransient reports whether an error is a passing state of the system, not a property of the
// file.
func isTransient(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EIO)
}

// openDeclared opens a declared file, unless it has been replaced or changed since.
func (f *file) openDeclared() (*source.Region, error) {
	if f.why != nil && f.state != absent {
		return nil, fmt.Errorf("when the model was opened: %w", f.why)
	}
	h, err := f.reopen()
	if err != nil {
		return nil, err
	}
	return f.of.c.region(f.name, f.of.door().Path(f.name), h, !f.of.frozen)
}

// isUnused reports whether the file is mapped when it is first used, and was there when it was
// declared.
func (f *file) isUnused() bool { return f.region.Load() == nil && f.state == present && f.plain }

// reopen returns the declared file: the one that was kept, or what its name refers to now.
func (f *file) reopen() (*handle, error) {
	if h := f.kept; h != nil {
		err := f.checkKept()
		if err != nil {
			return nil, err
		}
		f.kept = nil
		return h, nil
	}
	h, err := f.of.door().open(f.name)
	if err != nil {
		return nil, err
	}
	err = f.compare(h)
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// checkKept returns an error if the file that was kept has changed since.
func (f *file) checkKept() error {
	if f.kept.file == nil {
		return nil
	}
	info, err := f.kept.file.Stat()
	if err != nil {
		return err
	}
	now := source.StampOf(info)
	if !f.seen.SameContent(&now) {
		return source.ErrReplaced
	}
	return nil
}

// readUnused fills p, which has the size of the file, with a declared file that was not used yet.
// It does not map it. ok is false if it cannot: opening the file says why.
func (f *file) readUnused(p []byte) (ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone || f.region.Load() != nil {
		return false
	}
	h := f.kept
	if h == nil {
		var err error
		h, err = f.reopen()
		if err != nil {
			return false
		}
		defer h.close()
	} else if f.checkKept() != nil {
		return false
	}
	at, ok := h.file.(io.ReaderAt)
	if !ok {
		return false
	}
	n, err := at.ReadAt(p, 0)
	return err == nil && n == len(p)
}

// compare returns an error if an open file is not the one that was declared.
func (f *file) compare(h *handle) error {
	if f.state == absent {
		return fmt.Errorf("%w: the file was not there when the model was opened", tensor.ErrCorrupt)
	}
	if f.state == unseen || h.info == nil {
		return nil
	}
	now := source.StampOf(h.info)
	if !f.seen.Same(&now) {
		return source.ErrReplaced
	}
	return nil
}

// statSize returns the size of the file, -1 if it is not known.
func (f *file) statSize() int64 {
	if r := f.region.Load(); r != nil {
		if r.Size() == driver.UnknownSize {
			return -1
		}
		return r.Size()
	}
	if f.state != present {
		return -1
	}
	return f.seen.Size()
}
