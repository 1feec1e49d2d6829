package mobi

import (
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// parsed is what is kept of an open file in addition to its index, all in private memory.
type parsed struct {
	src     driver.Source
	index   *driver.Index
	opts    driver.Options
	header  Header
	model   modelInfo
	records []record                // the constants, in file order
	graph   []byte                  // the operator graph as it is in the file, checked
	footer  atomic.Pointer[verdict] // nil until the footer was checked
	seen    oddities
}

// parser fills a parsed while the file is being opened.
type parser struct {
	*parsed
	wire.Window
	budget int64 // bytes of structure that the caller still allows
	names  nameSet
	head   [headerSize]byte
	digits [10]byte // the name of the constant at hand
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

// parse reads the structure of the file.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*parsed, error) {
	p := parsers.Get().(*parser)
	defer parsers.Put(p)
	h, err := readHeader(src, p.head[:], o.Check.Sums())
	if err != nil {
		return nil, err
	}
	x.Version = "1"
	f := &parsed{src: src, index: x, opts: *o, header: h}
	p.parsed, p.budget = f, o.MaxHeaderBytes
	p.Open(src)
	defer p.end()
	if err := p.spend("metadata and operator graph", -1, h.around()); err != nil {
		return nil, err
	}
	if err := o.Memory.Reserve(h.around()); err != nil {
		return nil, wire.Error(name, "metadata and operator graph", -1, err)
	}
	if err := p.metadata(); err != nil {
		return nil, err
	}
	if err := p.constants(); err != nil {
		return nil, err
	}
	if err := p.operators(); err != nil {
		return nil, err
	}
	f.opts.Context = nil // of opening
	return f, nil
}

// end lets another file be parsed.
func (p *parser) end() {
	p.Close()
	*p = parser{}
}

// around returns how many bytes header, metadata, operator graph and footer take.
func (h *Header) around() int64 {
	return headerSize + int64(h.TensorOffset) - int64(h.MetadataOffset) + int64(h.FileSize) - int64(h.GraphOffset)
}

// spend counts n bytes of structure, which is held in memory, against the
// caller's limit.
func (p *parser) spend(field string, off, n int64) error {
	if p.budget -= n; p.budget < 0 {
		return wire.Errorf(name, field, off, format.ErrLimit, "the structural part is larger than the %d bytes that are allowed", p.opts.MaxHeaderBytes)
	}
	return nil
}
