package format

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// mostKept is the number of declared files of a model that stay open until they are first used.
const mostKept = 64

var errNoDir = fmt.Errorf("%w: a model that was not opened by path has no directory; set Options.Dir", tensor.ErrUnsupported)

// openEntry opens a file of c.door that opens the model.
func (c *config) openEntry(name string) (*source.Region, error) {
	h, err := c.door.open(name)
	if err != nil {
		return nil, err
	}
	return c.region(name, c.door.Path(name), h, true)
}

// readEntry returns the content of a small file of c.door, which has at most most bytes.
func (c *config) readEntry(name string, most int) ([]byte, error) {
	h, err := c.door.open(name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	b := make([]byte, most)
	n, _, err := h.readHead(b)
	if err != nil {
		return nil, err
	}
	return b[:n], nil
}

// openNamed opens the file c.name of c.fs, wherever links of its name lead.
func (c *config) openNamed() (*source.Region, error) {
	f, info, err := disk.OpenNamed(c.fs, c.name)
	if err != nil {
		return nil, err
	}
	return c.region(path.Base(c.name), c.name, &handle{file: f, info: info}, true)
}

// region is the only way to a Region of a file of a model, through every door, while the model is parsed and later. (The
// own file of a model that is opened by path, by descriptor, from memory or by a reader has one before.) If Options.Trusted
// was asked before, it must cover the file of that name. region takes ownership of h, even when it fails. path is "" if
// only the open file knows it.
func (c *config) region(name, path string, h *handle, parse bool) (*source.Region, error) {
	o := c.sourceOptions()
	o.Parse = parse || c.trust != nil // it is hashed by its descriptor
	r, err := h.region(path, o)
	if err != nil {
		return nil, err
	}
	if path == "" {
		path = r.Path()
	}
	if path == "" && c.trust != nil {
		path = name // an error must say which file is not as signed
	}
	format := ""
	if c.driver != nil {
		format = c.driver.Describe().Name
	}
	r.SetOrigin(format, path)
	if err := c.trust.admit(c.options.Context, name, r); err != nil {
		r.Close()
		return nil, err
	}
	if !parse {
		r.Parsed()
	}
	return r, nil
}

// hasOthers reports whether there is a place for files beside the model's own.
func (c *config) hasOthers() bool { return c.options.Dir != "" || c.door != nil || c.path != "" }

// others returns where the files beside the model's own come from.
func (c *config) others() door {
	switch {
	case c.options.Dir != "":
		return inDirectory(c.options.Dir, c.options.Root)
	case c.door != nil:
		return c.door
	case c.path != "":
		return inDirectory(filepath.Dir(c.path), c.options.Root)
	}
	return noDoor{}
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
	return s.m.c.region(name, door.Path(name), h, true)
}

// state is what is known of a declared file.
type state uint8

const (
	unseen  state = iota // it is opened when it is first used
	present              // it was there when it was declared
	absent               // it was not
)

// declare looks at a file that is opened when it is first used, and keeps up to mostKept of them open.
func (f *file) declare() error {
	door := f.spaces.door()
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
		f.state, f.seen = present, stamp
		return nil
	}
	f.why = err
	if errors.Is(err, os.ErrNotExist) {
		f.state = absent
	}
	return nil
}

// keep makes h the file that was declared. isWhole reports that h can still be read from its beginning.
func (f *file) keep(h *handle, isWhole bool) {
	if h.info != nil {
		f.state, f.seen = present, source.StampOf(h.info)
	}
	if f.spaces.kept == mostKept || !isWhole {
		h.close()
		return
	}
	f.spaces.kept++
	f.kept = h
}

// isTransient reports whether an error is a passing state of the system, not a property of the file.
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
	return f.c.region(f.name, f.spaces.door().Path(f.name), h, !f.spaces.frozen)
}

// reopen returns the declared file: the one that was kept, or what its name refers to now.
func (f *file) reopen() (*handle, error) {
	if h := f.kept; h != nil && h.file != nil {
		info, err := h.file.Stat()
		if err != nil {
			return nil, err
		}
		now := source.StampOf(info)
		if !f.seen.SameContent(&now) {
			return nil, source.ErrReplaced
		}
	}
	if h := f.kept; h != nil {
		f.kept = nil
		return h, nil
	}
	h, err := f.spaces.door().open(f.name)
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

// look returns the Stamp of what a later Open would open the model by again.
func (c *config) look() (source.Stamp, error) {
	var info fs.FileInfo
	var err error
	if c.fs != nil {
		info, err = fs.Stat(c.fs, c.name)
	} else {
		info, err = os.Stat(c.name)
	}
	if err != nil {
		return source.Stamp{}, err
	}
	return source.StampOf(info), nil
}

// checkChanged returns ErrChanged if the file that says what the files of the model are is no longer the one that was
// parsed, so that the other files may be those of another model. err is the error of opening so far.
func (m *Model) checkChanged(err error) error {
	if m.c.name == "" || !m.spaces.isUsed {
		return err
	}
	if m.isDir && !errors.Is(err, fs.ErrNotExist) {
		return err // a directory changes with each file that is made in it
	}
	now, lost := m.c.look()
	if lost == nil && m.was.Same(&now) || lost != nil && !errors.Is(lost, fs.ErrNotExist) {
		return err
	}
	changed := tensor.ErrChanged
	if err != nil {
		changed = fmt.Errorf("%w%.0w", tensor.ErrChanged, err) // such as ErrSignature
	}
	return &tensor.Error{Format: m.desc.Name, Path: m.path, Offset: -1, Err: changed}
}
