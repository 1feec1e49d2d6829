package format

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/note"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

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
	m.spaces.others = c.door
	m.isDir = true
	if c.name != "" {
		m.was, _ = c.look() // what is gone by now is gone when it is compared
	}
	return m.open(c, func() (err error) {
		m.parsed, err = parse(&m.spaces, &m.index, &c.parse)
		return err
	})
}

// parserOf returns what parses the directory c.door, or the files c.parts of it. It is nil if the
// driver parses none.
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

// open opens the model with parse. It closes the model if it fails or a reader panics. Then it
// drops the context of opening, as drivers may keep the options.
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
		err := c.hold(c.options.Context, r)
		if err != nil {
			return err
		}
	}
	check := c.options.Check
	isSigned := c.trust != nil && c.trust.key != nil && len(m.spaces.files) > 1 // sums in the signed part cover the other files
	m.startTouch(isSigned || check == CheckTouch || check == CheckDefault && m.desc.CheckOnTouch)
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
	m.owners = m.one[:0]
	for _, f := range m.spaces.files {
		m.owners = append(m.owners, owner{m, f})
	}
	m.main.Parsed()
	m.index.Seal()
	if len(m.spaces.files) > 1 {
		m.main.OnFree(m.spaces.close)
	}
}

func (m *Model) init(r *source.Region, c *config) {
	m.c = c
	m.desc = c.driver.Describe()
	m.main = r
	m.path = c.path
	m.keepNote(note.Of(c.options.Context))
	m.was = r.Stamp()
	if m.path == "" {
		m.path = r.Path()
	}
	m.main.SetOrigin(m.desc.Name, m.path)
	m.index.Count(c.parse.Memory)
	m.cache.most = c.options.CacheBytes
	m.cache.memory = c.parse.Memory
	s := &m.spaces
	s.c = c
	s.format = m.desc.Name
	s.views = m
	s.own.of = s
	s.own.region.Store(r)
	s.files = append(s.one[:0], &s.own)
	s.structure.Memory = c.parse.Memory
}

// checkIndex checks the driver's results: every tensor must lie within its file and have
// the size of its shape and type.
func (m *Model) checkIndex() error {
	for i := range m.index.Len() {
		space, off, n := m.index.Place(i)
		size := n
		var err error // which only the file determines, unless:
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

// checkChanged returns ErrChanged if the file that says what the files of the model are is no
// longer the one that was parsed, so that the other files may be those of another model. err is the
// error of opening so far.
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

// newModel returns a model that is not open yet. Its driver is that of Options.Format, nil to
// detect the format.
func newModel(opts *Options) (*Model, error) {
	m := &Model{}
	o, err := checkOptions(opts)
	if err != nil {
		return nil, err
	}
	m.memory.Limit(o.MaxMemory)
	m.opening.options = o
	m.opening.parse = driver.ParseOptions{Context: o.Context, CheckSums: o.Check != CheckStructure, Key: o.Key, Memory: &m.memory}
	if o.Format != nil {
		m.opening.driver = o.Format.Driver()
		if m.opening.driver == nil {
			return nil, unregistered("", "Options.Format has no driver")
		}
	}
	return m, nil
}

// files says how the file that is parsed is opened.
func (m *Model) files() source.Options {
	s := m.opening.sourceOptions()
	s.Parse = true
	return s
}

// attempts is how often a model is opened whose files are replaced meanwhile.
const attempts = 4

// openStable opens a model with open. It starts over if the files of the model change meanwhile.
func openStable(open func() (*Model, error)) (m *Model, err error) {
	for range attempts {
		m, err = open()
		if !errors.Is(err, ErrChanged) {
			return m, err
		}
	}
	return nil, err
}

// missing is the error for an argument that is nil.
func missing(what string) error { return &tensor.Error{Field: what, Offset: -1, Err: os.ErrInvalid} }

// finish detects the format unless it is given, and parses.
func (m *Model) finish(r *source.Region, err error, path string) (*Model, error) {
	name := path
	if r != nil && name == "" {
		name = r.Path() // of a reader
	}
	m.place.name = cmp.Or(m.place.name, name)
	asked := driverName(m.opening.driver)
	m.opening.path = path
	if err != nil {
		return nil, wire.Place(err, asked, name, "")
	}
	err = m.opening.authenticate(r)
	if err != nil {
		return nil, wire.Place(err, asked, name, "")
	}
	if m.opening.driver == nil {
		err = m.choose(r, name)
		if err != nil {
			r.Close()
			return nil, wire.Place(err, "", name, "")
		}
	}
	d := m.opening.driver
	size := r.Size()
	err = m.openRegion(r, &m.opening)
	if err != nil && !foreign.IsTold(err) {
		is := other(d, m.opening.head, size, name)
		if is != "" {
			err = named(err, is, asked, name)
		}
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// choose sets the driver that the content shows.
func (m *Model) choose(r *source.Region, path string) error {
	head, err := r.Copy(0, min(driver.SniffLen, r.Size()))
	if err != nil {
		return err
	}
	if m.opening.driver = detect(head, r.Size(), path); m.opening.driver == nil {
		return unknown(head, path)
	}
	return nil
}
