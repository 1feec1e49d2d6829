package format

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/internal/source"
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
	// main is the model's own file, empty heap memory for a directory. It guards the whole model:
	// every use of any of its files is between Enter and Leave of main, and the other files are
	// closed when its memory is released. No code takes a lock while it holds another, except for
	// the locks of single tensors, which are taken first.
	main   *source.Region
	path   string       // the path in errors, or a reader's name
	was    source.Stamp // of the file, or of the directory before it was listed
	isDir  bool
	index  driver.Index
	parsed *driver.Parsed // not nil once opened

	spaces spaces
	owners []owner                   // of the views, by file
	one    [1]owner                  // memory of owners for most models
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

// Signature returns what the file states about its signature, nil if it is unsigned. It does not
// tell whether the signature is valid: Verify and CheckClaim do.
func (m *Model) Signature() *schema.Signature {
	m = m.opened()
	s := m.parsed.Signature
	if s == nil || m.main.Closed() {
		return nil
	}
	c := *s
	return &c
}

// Own returns what the package of the model's format knows of it, for the From of that package. It
// is nil for a format that has nothing, and for a nil Model.
func (m *Model) Own() any { return m.opened().parsed.Own }

// NeedsKey reports whether the data is encrypted and Options.Key was not set.
func (m *Model) NeedsKey() bool {
	m = m.opened()
	return !m.main.Closed() && m.parsed.NeedsKey
}

// Pin keeps raw slices valid across Close: Close returns, and the last unpin unmaps the file.
// Further calls of an unpin do nothing.
func (m *Model) Pin() (unpin func(), err error) {
	m = m.opened()
	return m.main.Pin()
}

// place is where the file of a model is, and what the files beside it make of it.
type place struct {
	name string // in errors: a path, or the name of a reader
	once sync.Once
	part shards.Part
}

// newDead returns a closed model without tensors.
func newDead() *Model {
	m := &Model{c: new(config), main: source.FromBytes(nil), parsed: new(driver.Parsed)}
	m.spaces.c = m.c
	m.spaces.own.of = &m.spaces
	m.spaces.frozen = true
	m.main.Close()
	return m
}

// isClosed reports whether Close was called.
func (m *Model) isClosed() bool { return m.main.Closed() }

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

// Files returns the paths of all files of the model: that of Path, then shards, the files of a
// directory, and external data, even if it is missing. tensor.Info.File is an index of it. It is
// nil for bytes and readers, whose files Stats lists.
func (m *Model) Files() []string {
	m = m.opened()
	if m.Path() == "" {
		return nil
	}
	var files []string
	for _, f := range m.spaces.files {
		files = append(files, f.path())
	}
	return files
}

// owner owns the views of the tensors in a file.
type owner struct {
	m *Model
	f *file
}
