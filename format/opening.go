package format

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/note"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// config describes the model to open.
type config struct {
	driver  driver.Driver
	options Options // as checkOptions returns them
	parse   driver.ParseOptions
	path    string // path of the file or directory, "" for bytes and readers
	head    []byte // the beginning of the file, for the error of an unknown format

	// door opens the other files of the model. If it is nil, they are next to path. Options.Dir precedes both.
	door door
	// fs and name are what a later Open would open the model by again: a name in a file system, or a path if fs is nil.
	// name is "" if there is nothing to open again.
	fs   fs.FS
	name string
	// parts are the files in door that are the model together, without an index. It is nil for other directories.
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

// openRegion parses the file in r. It takes ownership of r, even when it fails. m is the
// zero Model, which keeps c.
func (m *Model) openRegion(r *source.Region, c *config) error {
	err := c.authenticate(r)
	if err != nil {
		return wire.Place(err, c.driver.Describe().Name, c.path, "")
	}
	m.init(r, c)
	m.source = input{m.main, &m.spaces.own}
	return m.open(c, func() (err error) {
		m.parsed, err = c.driver.Parse(&m.source, &m.index, &c.parse)
		if foreign.Blamed(err) {
			c.head, _ = m.main.Copy(0, min(driver.SniffLen, m.main.Size()))
		}
		return err
	})
}

// openTree parses the directory c.door. m is the zero Model.
func (m *Model) openTree(c *config) error {
	parse := parserOf(c)
	if parse == nil {
		return &tensor.Error{Format: c.driver.Describe().Name, Path: c.path, Offset: -1, Err: source.ErrNotRegular}
	}
	err := c.authenticate(nil)
	if err != nil {
		return wire.Place(err, c.driver.Describe().Name, c.path, "")
	}
	r := source.FromBytes(nil)
	r.SetOrigin("", c.name)
	m.init(r, c)
	m.spaces.others, m.isDir = c.door, true
	if c.name != "" {
		m.was, _ = c.look() // what is gone by now is gone when it is compared
	}
	return m.open(c, func() (err error) {
		m.parsed, err = parse(&m.spaces, &m.index, &c.parse)
		return err
	})
}

// parserOf returns what parses the directory c.door, or the files c.parts of it. It is nil if the driver parses none.
func parserOf(c *config) func(driver.Dir, *driver.Index, *driver.ParseOptions) (*driver.Parsed, error) {
	if c.parts == nil {
		switch p := c.driver.(type) {
		case driver.DirParser:
			return p.ParseDir
		case driver.FolderParser:
			return p.ParseFolder
		}
		return nil
	}
	p, ok := c.driver.(driver.PartsParser)
	if !ok {
		return nil
	}
	return func(d driver.Dir, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
		return p.ParseParts(d, c.parts, x, o)
	}
}

// open opens the model with parse. It closes the model if it fails or a reader panics. Then it drops the context of
// opening, as drivers may keep the options.
func (m *Model) open(c *config, parse func() error) (err error) {
	good := false
	defer func() {
		if !good {
			m.sealed()
			m.Close()
		}
		c.options.Context = context.Background()
		c.parse.Context = c.options.Context
	}()
	err = m.checkChanged(m.parse(c, parse))
	if err != nil {
		return err
	}
	for r := range m.regions() {
		err := m.hold(c.options.Context, r)
		if err != nil {
			return err
		}
	}
	check := c.options.Check
	isSigned := c.trust != nil && c.trust.key != nil && len(m.spaces.files) > 1 // sums in the signed part cover the other files
	m.touch.init(m, isSigned || check == CheckTouch || check == CheckDefault && m.desc.CheckOnTouch)
	if check == CheckAll {
		_, err = m.verify(c.options.Context, &VerifyOptions{Progress: c.options.Progress, Workers: c.options.Workers})
	}
	good = err == nil
	return err
}

// parse parses the model, and checks the result and the signature.
func (m *Model) parse(c *config, parse func() error) error {
	err := m.guard(parse)
	m.sealed()
	full := m.index.Err()
	if full != nil {
		return m.explain(&tensor.Error{Format: m.desc.Name, Path: m.path, Field: "tensors", Offset: -1, Err: full})
	}
	if err != nil {
		return m.explain(err)
	}
	err = m.checkIndex()
	if err != nil {
		return m.explain(err)
	}
	if c.options.Private {
		err = m.spaces.readAll()
		if err != nil {
			return m.explain(err)
		}
	}
	if c.trust != nil {
		return m.explain(m.authenticate())
	}
	return nil
}

// structureEnd returns where the structure of the model's own file ends.
func (m *Model) structureEnd() int64 { return m.spaces.structure.End(0) }

// sealed ends parsing.
func (m *Model) sealed() {
	if m.parsed == nil {
		m.parsed = new(driver.Parsed)
	}
	if m.spaces.frozen {
		return
	}
	m.spaces.endParsing()
	m.main.Parsed()
	m.index.Seal()
	if len(m.spaces.files) > 1 {
		m.main.OnFree(m.spaces.close)
	}
}

func (m *Model) init(r *source.Region, c *config) {
	m.c, m.desc, m.main, m.path = c, c.driver.Describe(), r, c.path
	m.keepNote(note.Of(c.options.Context))
	m.was = r.Stamp()
	if m.path == "" {
		m.path = r.Path()
	}
	m.main.SetOrigin(m.desc.Name, m.path)
	m.index.Count(c.parse.Memory)
	m.cache.most, m.cache.memory = c.options.CacheBytes, c.parse.Memory
	s := &m.spaces
	s.m, s.own.Model = m, m
	s.own.region.Store(r)
	s.files = append(s.one[:0], &s.own)
	s.structure.Memory = c.parse.Memory
}

// isClosed reports whether Close was called.
func (m *Model) isClosed() bool { return m.main.Closed() }

// hold locks a file in memory if the options require it.
func (m *Model) hold(ctx context.Context, r *source.Region) error {
	if !m.c.options.Lock {
		return nil
	}
	err := r.Lock(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(err, source.ErrNotMapped) || errors.Is(err, source.ErrNoLock) {
		err = fmt.Errorf("%w: %w", tensor.ErrUnsupported, err)
	}
	return m.explain(&tensor.Error{Path: r.Path(), Field: "Options.Lock", Offset: -1, Err: err})
}

// checkIndex checks the driver's results: every tensor must lie within its file and have
// the size of its shape and type.
func (m *Model) checkIndex() error {
	for i := range m.index.Len() {
		space, off, n := m.index.Place(i)
		size, err := n, error(nil) // which only the file determines, unless:
		if e := m.index.Encoding(i); e == nil {
			size, err = m.index.Shape(i).ByteSize(m.index.DType(i))
		} else if e.BlockBytes > 0 {
			size, err = e.Bytes(m.index.Shape(i))
		}
		switch {
		case err != nil:
		case n < 0:
			err = fmt.Errorf("%w: the driver gives it %d bytes", tensor.ErrCorrupt, n)
		case n != size:
			err = fmt.Errorf("%w: the driver gives %d bytes to %v %v, which takes %d", tensor.ErrCorrupt, n, m.index.DType(i), m.index.Shape(i), size)
		case !m.spaces.known(space):
			err = errUnknown
		case m.index.Loaded(i) && m.parsed.Load == nil:
			err = fmt.Errorf("%w: the driver cannot load it", tensor.ErrCorrupt)
		case !m.index.Loaded(i):
			err = m.spaces.files[space].check(off, n)
		}
		if err != nil {
			return m.about(m.index.Name(i), off, err)
		}
	}
	return nil
}

// newDead returns a closed model without tensors.
func newDead() *Model {
	m := &Model{c: new(config), main: source.FromBytes(nil), parsed: new(driver.Parsed)}
	m.spaces.m, m.spaces.own.Model, m.spaces.frozen = m, m, true
	m.main.Close()
	return m
}
