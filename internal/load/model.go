package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Config describes the model to open.
type Config struct {
	Driver  driver.Driver
	Options driver.Options // as CheckOptions returns them
	Path    string         // path of the file or directory, "" for bytes and readers
	Head    []byte         // the beginning of the file, for the error of an unknown format

	// Door opens the other files of the model. If it is nil, they are next to Path. Options.Dir precedes both.
	Door Door
	// FS and Name are what a later Open would open the model by again: a name in a file system, or a path if FS is nil.
	// Name is "" if there is nothing to open again.
	FS   fs.FS
	Name string
	// Parts are the files in Door that are the model together, without an index. It is nil for other directories.
	Parts []string
	// IsPart means that the file which opens the model is only a part of the file at Path.
	IsPart bool

	trust *trusted // nil without Options.Trusted
}

// Files returns the options for opening the files of the model.
func (c *Config) Files() source.Options {
	o := &c.Options
	return source.Options{Debug: o.Debug, Private: o.Private, Context: o.Context, Memory: o.Memory}
}

// Model is an open model of any format.
type Model struct {
	c      *Config
	desc   driver.Description
	source input          // of main, while it is parsed
	main   *source.Region // the file, whose region guards all others; empty heap memory for a directory
	path   string         // the path in errors, or a reader's name
	was    source.Stamp   // of the file, or of the directory before it was listed
	isDir  bool
	index  driver.Index
	parsed *driver.Parsed // not nil once opened

	spaces spaces
	infos  atomic.Pointer[infoTable] // not nil once a tensor was requested
	cache  cache
	touch  touch
	sums   atomic.Int64 // number of verified checksums
	found  struct {
		sync.Mutex
		notes []string // of WithNote and of verifications
	}

	declaredSums sums
}

// Open parses the file in r. It takes ownership of r, even when it fails. m is the
// zero Model, which keeps c.
func (m *Model) Open(r *source.Region, c *Config) error {
	err := c.Authenticate(r)
	if err != nil {
		return wire.Explain(err, c.Driver.Describe().Name, c.Path)
	}
	m.init(r, c)
	m.source = input{m.main, &m.spaces.own}
	return m.open(c, func() (err error) {
		m.parsed, err = c.Driver.Parse(&m.source, &m.index, &c.Options)
		if foreign.Blamed(err) {
			c.Head, _ = m.main.Copy(0, min(driver.SniffLen, m.main.Size()))
		}
		return err
	})
}

// OpenDir parses the directory c.Door. m is the zero Model.
func (m *Model) OpenDir(c *Config) error {
	parse := parserOf(c)
	if parse == nil {
		return &tensor.Error{Format: c.Driver.Describe().Name, Path: c.Path, Offset: -1, Err: source.ErrNotRegular}
	}
	err := c.Authenticate(nil)
	if err != nil {
		return wire.Explain(err, c.Driver.Describe().Name, c.Path)
	}
	r := source.FromBytes(nil)
	r.SetOrigin("", c.Name)
	m.init(r, c)
	m.spaces.others, m.isDir = c.Door, true
	if c.Name != "" {
		m.was, _ = c.look() // what is gone by now is gone when it is compared
	}
	return m.open(c, func() (err error) {
		m.parsed, err = parse(&m.spaces, &m.index, &c.Options)
		return err
	})
}

// parserOf returns what parses the directory c.Door, or the files c.Parts of it. It is nil if the driver parses none.
func parserOf(c *Config) func(driver.Dir, *driver.Index, *driver.Options) (*driver.Parsed, error) {
	if c.Parts == nil {
		switch p := c.Driver.(type) {
		case driver.DirParser:
			return p.ParseDir
		case driver.FolderParser:
			return p.ParseFolder
		}
		return nil
	}
	p, ok := c.Driver.(driver.PartsParser)
	if !ok {
		return nil
	}
	return func(d driver.Dir, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
		return p.ParseParts(d, c.Parts, x, o)
	}
}

// open opens the model with parse. It closes the model if it fails or a reader panics. Then it drops the context of
// opening, as drivers may keep the options.
func (m *Model) open(c *Config, parse func() error) (err error) {
	good := false
	defer func() {
		if !good {
			m.sealed()
			m.Close()
		}
		c.Options.Context = context.Background()
	}()
	err = m.checkChanged(m.parse(c, parse))
	if err != nil {
		return err
	}
	for r := range m.regions() {
		err := m.hold(c.Options.Context, r)
		if err != nil {
			return err
		}
	}
	check := c.Options.Check
	isSigned := c.trust != nil && c.trust.key != nil && len(m.spaces.files) > 1 // sums in the signed part cover the other files
	m.touch.init(m, isSigned || check == driver.CheckTouch || check == driver.CheckDefault && m.desc.CheckOnTouch)
	if check == driver.CheckAll {
		_, err = m.Verify(c.Options.Context, &VerifyOptions{Progress: c.Options.Progress, Workers: c.Options.Workers})
	}
	good = err == nil
	return err
}

// parse parses the model, and checks the result and the signature.
func (m *Model) parse(c *Config, parse func() error) error {
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
	if c.Options.Private {
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

// StructureEnd returns where the structure of the model's own file ends.
func (m *Model) StructureEnd() int64 { return m.spaces.structure.end(0) }

// sealed ends parsing.
func (m *Model) sealed() {
	if m.parsed == nil {
		m.parsed = new(driver.Parsed)
	}
	if m.spaces.frozen {
		return
	}
	m.spaces.Parsed()
	m.main.Parsed()
	m.index.Seal()
	if len(m.spaces.files) > 1 {
		m.main.OnFree(m.spaces.close)
	}
}

func (m *Model) init(r *source.Region, c *Config) {
	m.c, m.desc, m.main, m.path = c, c.Driver.Describe(), r, c.Path
	note, _ := c.Options.Context.Value(noteKey{}).(string)
	m.keepNote(note)
	m.was = r.Stamp()
	if m.path == "" {
		m.path = r.Path()
	}
	m.main.SetOrigin(m.desc.Name, m.path)
	m.index.Count(c.Options.Memory)
	m.cache.most, m.cache.memory = c.Options.CacheBytes, c.Options.Memory
	s := &m.spaces
	s.m, s.own.Model = m, m
	s.own.region.Store(r)
	s.files = append(s.one[:0], &s.own)
	s.structure.memory = c.Options.Memory
}

type noteKey struct{}

// WithNote returns a context for opening a model with a note, such as where it comes from.
func WithNote(ctx context.Context, note string) context.Context {
	return context.WithValue(ctx, noteKey{}, note)
}

// IsDir reports whether the model is a directory.
func (m *Model) IsDir() bool { return m.isDir }

// IsClosed reports whether Close was called.
func (m *Model) IsClosed() bool { return m.main.Closed() }

// IsOpen reports whether Open was called.
func (m *Model) IsOpen() bool { return m.main != nil }

// hold locks a file in memory if the options require it.
func (m *Model) hold(ctx context.Context, r *source.Region) error {
	if !m.c.Options.Lock {
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

// Parsed returns the result of the driver.
func (m *Model) Parsed() *driver.Parsed { return m.parsed }

// Format returns the name of the format.
func (m *Model) Format() string { return m.desc.Name }

// Path returns the name the model was opened by, "" for bytes and readers.
func (m *Model) Path() string { return m.c.Path }

// Index returns the list of tensors, which the caller must not modify.
func (m *Model) Index() *driver.Index { return &m.index }

// Tensor returns the tensor with the given name.
func (m *Model) Tensor(name string) (v tensor.View, err error) {
	i, ok := m.index.Lookup(name)
	if !ok || m.main.Closed() {
		return m.missing(name, tensorField(name))
	}
	err = m.at(i, &v)
	return v, err
}

// missing returns the error for a tensor that does not exist.
func (m *Model) missing(name, field string) (tensor.View, error) {
	err := tensor.ErrNotFound
	if m.main.Closed() {
		err = tensor.ErrClosed
	}
	return failed(&tensor.Info{Name: name, Offset: -1}, &tensor.Error{Format: m.desc.Name, Path: m.path, Field: field, Offset: -1, Err: err})
}

// failed returns err and a view whose methods return it.
func failed(info *tensor.Info, err error) (tensor.View, error) {
	return tensor.View(memory.New[tensor.Info](info, memory.Failed[tensor.Info]{Err: err}, nil)), err
}

// At returns tensor i in file order. If its data cannot be accessed, the view's
// accessors return the error.
func (m *Model) At(i int) (v tensor.View) {
	if uint(i) >= uint(m.index.Len()) {
		v, _ = m.missing("", fmt.Sprintf("tensor %d", i))
		return v
	}
	_ = m.at(i, &v)
	return v
}

// at makes the view of tensor i, and maps its file if necessary. It takes a pointer to avoid copying views.
func (m *Model) at(i int, v *tensor.View) error {
	space, off, size := m.index.Place(i)
	info, f := m.Info(i), m.spaces.files[space]
	var data []byte
	if !m.index.Loaded(i) {
		r := f.region.Load()
		if r == nil || off < 0 || size > r.Size()-off {
			err := m.main.Enter()
			if err == nil {
				r, err = f.find(i, info.Name, off, size)
				m.main.Leave()
			}
			if err != nil {
				*v, err = failed(info, err)
				return err
			}
		}
		if mem := r.Bytes(); mem != nil {
			data = mem[off : off+size : off+size]
		}
	}
	*v = tensor.View(memory.New[tensor.Info](info, f, data))
	return nil
}

// Tensors iterates over the tensors in file order.
func (m *Model) Tensors() iter.Seq2[string, tensor.View] {
	return func(yield func(string, tensor.View) bool) {
		for i := range m.index.Len() {
			if !yield(m.index.Name(i), m.At(i)) {
				return
			}
		}
	}
}

// within calls f, which may access the file, between Enter and Leave.
func (m *Model) within(f func() error) error {
	return m.explain(m.Do(f))
}

// inside returns the result of f, which may access the file.
func inside[T any](m *Model, f func() (T, error)) (v T, err error) {
	err = m.within(func() (err error) {
		v, err = f()
		return err
	})
	return v, err
}

// guard turns faults in any memory of the model into errors.
func (m *Model) guard(f func() error) error {
	addr, err := fault.Guard(m.Holds, f)
	if addr != 0 {
		return m.Fault(addr)
	}
	return err
}

// Do calls f between Enter and Leave. It turns a fault in any memory of the model into an
// error that names the tensor.
func (m *Model) Do(f func() error) error {
	if err := m.main.Enter(); err != nil {
		return err
	}
	defer m.main.Leave()
	return m.guard(f)
}

// Metadata returns the file's key-value pairs, nil when there are none.
func (m *Model) Metadata() (schema.Metadata, error) {
	meta, err := inside(m, func() (schema.Metadata, error) {
		if m.parsed.LazyMetadata != nil {
			return m.parsed.LazyMetadata()
		}
		return m.parsed.Metadata, nil
	})
	return slices.Clone(meta), err
}

// Value returns the first value of a metadata key, or ErrNotFound.
func (m *Model) Value(key string) (any, error) {
	return inside(m, func() (any, error) {
		value, ok, err := m.valueOf(key)
		if err == nil && !ok {
			err = &tensor.Error{Format: m.desc.Name, Path: m.path, Field: fmt.Sprintf("metadata %q", key), Offset: -1, Err: tensor.ErrNotFound}
		}
		return value, err
	})
}

func (m *Model) valueOf(key string) (value any, ok bool, err error) {
	p := m.parsed
	if p.LazyValue != nil {
		return p.LazyValue(key)
	}
	meta := p.Metadata
	if p.LazyMetadata != nil {
		meta, err = p.LazyMetadata()
	}
	value, ok = meta.Get(key)
	return value, ok, err
}

// Graph returns the graph, nil when there is none.
func (m *Model) Graph() (*schema.Graph, error) {
	if m.parsed.Graph == nil {
		return nil, nil
	}
	return inside(m, func() (*schema.Graph, error) { return m.parsed.Graph, nil })
}

// Native returns the contents that only the format can store, nil for nothing.
func (m *Model) Native() (*schema.Native, error) {
	if m.parsed.Native == nil {
		return nil, nil
	}
	return inside(m, m.parsed.Native)
}

// Notes lists tolerated oddities of the file.
func (m *Model) Notes() (notes []string) {
	_ = m.within(func() error {
		notes = slices.Clone(m.parsed.Notes)
		if m.parsed.LazyNotes != nil {
			notes = append(notes, m.parsed.LazyNotes()...)
		}
		return nil
	})
	return append(m.engineNotes(notes), m.foundNotes()...)
}

// Signature returns nil for an unsigned file.
func (m *Model) Signature() *schema.Signature {
	s := m.parsed.Signature
	if s == nil || m.main.Closed() {
		return nil
	}
	c := *s
	return &c
}

// CheckClaim checks that the key in the file, if there is one, made the signature over what the file records.
func (m *Model) CheckClaim() error {
	if m.parsed.CheckClaim == nil {
		return nil
	}
	return m.within(m.parsed.CheckClaim)
}

// NeedsKey reports whether data cannot be read without the key.
func (m *Model) NeedsKey() bool { return !m.main.Closed() && m.parsed.NeedsKey }

// Prefetch asks the system to read all files ahead. It maps those that are not open yet.
func (m *Model) Prefetch() error {
	if err := m.Do(m.spaces.openAll); err != nil {
		return err
	}
	return m.advise(memory.Prefetch)
}

// Evict removes the pages of all mappings from the process, and cached copies of tensors.
func (m *Model) Evict() error {
	m.cache.evict()
	m.c.trust.forget()
	return m.advise(memory.Evict)
}

// advise applies an Advice to all files.
func (m *Model) advise(a memory.Advice) error {
	return m.Do(func() error {
		for r := range m.regions() {
			if _, err := r.Advise(a, 0, r.Size()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Pin keeps the memory of all files mapped, even after Close, until unpin is called.
func (m *Model) Pin() (unpin func(), err error) { return m.main.Pin() }

// Close ends access to the model, waits for running uses, and releases the memory.
func (m *Model) Close() error {
	err := m.main.Close()
	m.cache.evict()
	if m.parsed != nil && m.parsed.Close != nil {
		err = errors.Join(err, m.parsed.Close())
	}
	return err
}

// Dead returns a closed model without tensors.
func Dead() *Model {
	m := &Model{c: new(Config), main: source.FromBytes(nil), parsed: new(driver.Parsed)}
	m.spaces.m, m.spaces.frozen = m, true
	m.main.Close()
	return m
}
