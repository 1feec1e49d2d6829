package format

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// config describes the model to open.
type config struct {
	driver  driver.Driver
	options Options // as checkOptions returns them
	parse   driver.ParseOptions
	path    string // path of the file or directory, "" for bytes and readers
	head    []byte // the beginning of the file, for the error of an unknown format

	// door opens the other files of the model. If it is nil, they are next to path. Options.Dir
	// precedes both.
	door door
	// fs and name are what a later Open would open the model by again: a name in a file system, or
	// a path if fs is nil. name is "" if there is nothing to open again.
	fs   fs.FS
	name string
	// parts are the files in door that are the model together, without an index. It is nil for
	// other directories.
	parts []string
	// isPart means that the file which opens the model is only a part of the file at path.
	isPart bool

	trust *trusted // nil without Options.Trusted
}

// sourceOptions returns the options for opening the files of the model.
func (c *config) sourceOptions() source.Options {
	o := &c.options
	return source.Options{Debug: o.Debug, Private: o.Private, Context: o.Context, Memory: c.parse.Memory}
}

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

// region is the only way to a Region of a file of a model, through every door, while the model is
// parsed and later. (The own file of a model that is opened by path, by descriptor, from memory or
// by a reader has one before.) If Options.Trusted was asked before, it must cover the file of that
// name. region takes ownership of h, even when it fails. path is "" if only the open file knows it.
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

// nameOf returns the name of the file that opens the model, or "" if it has none.
func (c *config) nameOf(r *source.Region) string {
	if c.isPart {
		return ""
	}
	name := path.Base(filepath.ToSlash(cmp.Or(c.path, r.Path())))
	if !isFileName(name) {
		return ""
	}
	return name
}

// authenticate asks Options.Trusted what the files of the model must be, and compares r, the file
// that opens it, before anything of it is used. r is nil for a directory. It does so once, and
// closes r if it fails.
func (c *config) authenticate(r *source.Region) (err error) {
	o := &c.options
	if o.Trusted == nil || c.trust != nil {
		return nil
	}
	isGood := false
	defer func() {
		if !isGood && r != nil { // also after a panic of Check or of a reader
			r.Close()
		}
	}()
	t := c.newTrusted(r)
	err = t.ask(o.Context, o.Trusted)
	if err != nil {
		return err
	}
	if r != nil {
		if err := t.admit(o.Context, t.own.Name, r); err != nil {
			return err
		}
	}
	c.trust = t
	isGood = true
	return nil
}

// newTrusted returns what a Trust requires of the files of the model, which is nothing yet. r is
// the file that opens it, nil for a directory.
func (c *config) newTrusted(r *source.Region) *trusted {
	t := &trusted{path: c.path, o: &c.options, memory: c.parse.Memory, source: c.sourceOptions(), required: make(map[string][]Digest)}
	t.sealer.Changed = errDiffers
	t.sealer.Memory = c.parse.Memory
	t.beside = func() (door, bool) { return c.others(), c.options.Dir == "" && c.door != nil }
	if r != nil {
		t.own = UnverifiedFile{Name: c.nameOf(r), Size: r.Size(), Open: true}
	}
	return t
}

// hold locks a file in memory if the options require it.
func (c *config) hold(ctx context.Context, r *source.Region) error {
	if !c.options.Lock {
		return nil
	}
	err := r.Lock(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(err, source.ErrNotMapped) || errors.Is(err, source.ErrNoLock) {
		err = fmt.Errorf("%w: %w", tensor.ErrUnsupported, err)
	}
	return &tensor.Error{Format: driverName(c.driver), Path: r.Path(), Field: "Options.Lock", Offset: -1, Err: err}
}
