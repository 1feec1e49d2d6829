package format

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// Model is an open model file of any format. Its methods are safe for
// concurrent use, Close included. The zero Model is closed.
type Model struct {
	file    source.Region // of a model that was opened by its path
	memory  driver.Memory // what it takes
	opening config        // how it was opened
	place   place         // where its file is

	c      *config // &opening, except in tests
	desc   driver.Description
	source input // of main, while it is parsed
	// main is the model's own file, empty heap memory for a directory. It guards the whole model: every use of any of its
	// files is between Enter and Leave of main, and the other files are closed when its memory is released. No code takes
	// a lock while it holds another, except for the locks of single tensors, which are taken first.
	main   *source.Region
	path   string       // the path in errors, or a reader's name
	was    source.Stamp // of the file, or of the directory before it was listed
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
		notes []string // of the context and of verifications
	}

	declaredSums sums
}

// dead is what the nil and the zero Model are.
var dead = newDead()

// opened returns m, or a closed model without tensors if m was never opened.
func (m *Model) opened() *Model {
	if m == nil || m.main == nil {
		return dead
	}
	return m
}

// Format returns the registered name, "mag".
func (m *Model) Format() string {
	m = m.opened()
	return m.desc.Name
}

// Version returns the version of the format that the file has, "1".
func (m *Model) Version() string { return m.opened().index.Version }

// Len returns the number of tensors that have data.
func (m *Model) Len() int { return m.opened().index.Len() }

// Path returns the path that the model was opened by, "" for bytes and readers.
func (m *Model) Path() string {
	m = m.opened()
	return m.c.path
}

// Tensor returns the tensor with the given name. The error is ErrNotFound if there is none, and ErrClosed
// after Close; a view that comes with an error returns it from all its accessors. Tensor takes some
// tens of nanoseconds and does not allocate.
func (m *Model) Tensor(name string) (v tensor.View, err error) {
	m = m.opened()
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

// At returns tensor i in file order, for 0 <= i < Len. The view of any other i returns ErrNotFound.
func (m *Model) At(i int) (v tensor.View) {
	m = m.opened()
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
	info, f := m.info(i), m.spaces.files[space]
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

// Tensors iterates over the tensors by name, in the order of their records in the file. The view of a tensor in a
// missing file returns that error from all its accessors.
func (m *Model) Tensors() iter.Seq2[string, tensor.View] {
	m = m.opened()
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
	return m.explain(m.Guard(f))
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
	own := &m.spaces.own
	addr, err := fault.Guard(own.Holds, f)
	if addr != 0 {
		return own.Fault(addr)
	}
	return err
}

// Guard calls f and guards its use of raw slices of the model's tensors (View.Bytes, tensor.As). Close waits until
// f returns. If f reads bytes that a file lost because it was cut short, f ends there and Guard returns
// ErrTruncated, which names the tensor. Calls of Guard and View.Use nest; f must not call Close.
//
// The guard covers the calling goroutine only: a goroutine that f starts must call Guard itself, or a
// fault in it ends the process. A system call with missing bytes as its argument returns EFAULT to f.
func (m *Model) Guard(f func() error) error {
	m = m.opened()
	if err := m.main.Enter(); err != nil {
		return err
	}
	defer m.main.Leave()
	return m.guard(f)
}

// Metadata returns a copy of the file's key-value pairs, in file order: none for formats without metadata. Metadata that
// does not fit Options.MaxMemory is ErrLimit.
func (m *Model) Metadata() (schema.Metadata, error) {
	m = m.opened()
	meta, err := inside(m, func() (schema.Metadata, error) {
		if m.parsed.LazyMetadata != nil {
			return m.parsed.LazyMetadata()
		}
		return m.parsed.Metadata, nil
	})
	return slices.Clone(meta), err
}

// Value returns the value of a metadata key: the first, if the file repeats it. The error is ErrNotFound if there is none. It
// costs one value, where Metadata costs all of them.
func (m *Model) Value(key string) (any, error) {
	m = m.opened()
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

// Graph returns the operator graph, nil if the file has none. It may be shared with other callers: to
// change it, use Clone.
func (m *Model) Graph() (*schema.Graph, error) {
	m = m.opened()
	if m.parsed.Graph == nil {
		return nil, nil
	}
	return inside(m, func() (*schema.Graph, error) { return m.parsed.Graph, nil })
}

// Native returns what only the format of the file can store, nil for nothing. Each call reads it
// from the file.
func (m *Model) Native() (*schema.Native, error) {
	m = m.opened()
	if m.parsed.Native == nil {
		return nil, nil
	}
	return inside(m, m.parsed.Native)
}

// Notes lists irregularities of the file that are not errors, such as "header checksum not recorded", and says if it is
// a part of a model.
func (m *Model) Notes() []string {
	m = m.opened()
	var notes []string
	_ = m.within(func() error {
		notes = slices.Clone(m.parsed.Notes)
		if m.parsed.LazyNotes != nil {
			notes = append(notes, m.parsed.LazyNotes()...)
		}
		return nil
	})
	notes = append(m.engineNotes(notes), m.foundNotes()...)
	p := m.part()
	if p.Count > 0 {
		notes = append([]string{p.String()}, notes...)
	}
	return notes
}

// Signature returns what the file states about its signature, nil if it is unsigned. It does not tell
// whether the signature is valid: Verify and CheckClaim do.
func (m *Model) Signature() *schema.Signature {
	m = m.opened()
	s := m.parsed.Signature
	if s == nil || m.main.Closed() {
		return nil
	}
	c := *s
	return &c
}

// CheckClaim checks that the key in the file (Signature.PublicKey) made the signature over the hash or digests that the
// file records, without comparing these with its data: Verify does both. Otherwise the error is ErrSignature. It is nil
// for an unsigned file and for one that names no key. Anybody can sign: only a trusted key says who did.
func (m *Model) CheckClaim() error {
	m = m.opened()
	if m.parsed.CheckClaim == nil {
		return nil
	}
	return m.within(m.parsed.CheckClaim)
}

// Own returns what the package of the model's format knows of it, for the From of that package. It is nil for a format that has
// nothing, and for a nil Model.
func (m *Model) Own() any { return m.opened().parsed.Own }

// NeedsKey reports whether the data is encrypted and Options.Key was not set.
func (m *Model) NeedsKey() bool {
	m = m.opened()
	return !m.main.Closed() && m.parsed.NeedsKey
}

// Prefetch asks the system to read the files ahead. It returns before they are read, but opens those that were not used
// yet, which may be many; with Options.Lock it reads them.
func (m *Model) Prefetch(ctx context.Context) error {
	m = m.opened()
	ctx = cmp.Or(ctx, context.Background())
	err := m.Guard(func() error { return m.spaces.openAll(ctx) })
	if err != nil {
		return err
	}
	return m.advise(memory.Prefetch)
}

// Evict reduces the memory of the process: it unmaps the pages of the mapped files and drops cached and
// decoded tensors. Raw slices stay valid; what is used again is mapped again, mostly from the page cache, or
// decoded again. Locked pages stay (Options.Lock), and on systems other than Linux and Android all
// mapped pages do.
func (m *Model) Evict() error {
	m = m.opened()
	m.cache.evict()
	m.c.trust.forget()
	return m.advise(memory.Evict)
}

// advise applies an Advice to all files.
func (m *Model) advise(a memory.Advice) error {
	return m.Guard(func() error {
		for r := range m.regions() {
			if _, err := r.Advise(a, 0, r.Size()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Pin keeps raw slices valid across Close: Close returns, and the last unpin unmaps the file.
// Further calls of an unpin do nothing.
func (m *Model) Pin() (unpin func(), err error) {
	m = m.opened()
	return m.main.Pin()
}

// Close makes further access return ErrClosed, waits for running calls such as View.Use, Guard and Verify, and
// unmaps the file. A function that such a call runs must not call Close, which would wait for it
// forever; the body of a loop over Tensors may. A second Close does nothing.
func (m *Model) Close() error {
	m = m.opened()
	err := m.main.Close()
	m.cache.evict()
	if m.parsed != nil && m.parsed.Close != nil {
		err = errors.Join(err, m.parsed.Close())
	}
	return err
}

// RestoreNames sets the tensor names in p, a schema of this model (Model.Schema), to those that the tensors had before
// the format numbered them, if the file has stored them (WriteOptions.KeepNames). It removes the metadata that every file of
// the format has, where they say nothing: a copy in the format has them again.
func (m *Model) RestoreNames(p *schema.Schema) error {
	m = m.opened()
	restore := m.parsed.Restore
	if restore == nil {
		return nil
	}
	return m.Guard(func() error {
		restore(p)
		return nil
	})
}
