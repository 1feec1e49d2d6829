package mobi

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
)

// parser fills a File while it is being opened.
type parser struct {
	*File
	src    source
	names  nameSet
	digits []byte // the name of the constant at hand
}

// limit refuses a structural part that would have to be held in memory and is
// larger than the caller allows.
func (p *parser) limit() error {
	n := int64(p.header.TensorOffset) - int64(p.header.MetadataOffset) + p.header.graphEnd() - int64(p.header.GraphOffset)
	if !p.src.region.InMemory() && n > p.opts.MaxHeaderBytes {
		return wire.Errorf(name, "metadata and operator graph", -1, format.ErrLimit, "%d bytes, at most %d are allowed", n, p.opts.MaxHeaderBytes)
	}
	return nil
}

// metadata reads the model metadata and the specs behind it, up to the first
// constant.
func (p *parser) metadata() error {
	at := int64(p.header.MetadataOffset)
	b, err := p.src.bytes(at, int64(p.header.TensorOffset)-at)
	if err != nil {
		return err
	}
	c := wire.NewCursor(name, b, at)
	if err := p.modelMetadata(&c); err != nil {
		return err
	}
	p.seen.padding = c.Left()
	padAt := c.Offset()
	rest := c.Bytes("padding", uint64(c.Left()))
	if i := firstNonZero(rest); i >= 0 {
		c.Failf("padding", padAt+int64(i), format.ErrCorrupt, "%#x between the specs and the constants", rest[i])
	}
	return c.Err()
}

// modelMetadata reads the model metadata and the specs.
func (p *parser) modelMetadata(c *wire.Cursor) error {
	m := &p.model
	n := c.U32("model name length")
	nameAt := c.Offset()
	raw := c.Bytes("model name", uint64(n))
	checkText(c, "model name", nameAt, raw)
	m.framework = c.U32("framework version")
	m.created = c.U64("creation timestamp")
	nIn, nOut := c.U32("input count"), c.U32("output count")
	c.Count("input and output count", uint64(nIn)+uint64(nOut), specMin)
	if c.Err() != nil {
		return c.Err()
	}
	m.name = string(raw)
	m.inputs, m.outputs = p.specs(c, int(nIn), int(nOut))
	return c.Err()
}

// firstNonZero returns the index of the first byte that is not 0, or -1.
func firstNonZero(b []byte) int {
	rest := bytes.TrimLeft(b, "\x00")
	if len(rest) == 0 {
		return -1
	}
	return len(b) - len(rest)
}

// specs reads all specs: once to check and measure them, once to keep them.
func (p *parser) specs(c *wire.Cursor, nIn, nOut int) (in, out []Spec) {
	first := *c
	text, dims := 0, 0
	for i := range nIn + nOut {
		if i == 0 || i == nIn {
			p.names.reset(max(nIn, nOut))
		}
		s := nextSpec(c)
		if c.Err() == nil && !p.names.add(s.name) {
			c.Failf("spec name", s.at, format.ErrCorrupt, "%q occurs twice", s.name)
		}
		if c.Err() != nil {
			return nil, nil
		}
		text += len(s.name)
		dims += len(s.dims) / 8
	}
	all := keepSpecs(&first, nIn+nOut, text, dims)
	return all[:nIn:nIn], all[nIn:]
}

// keepSpecs copies n specs out of the file, with text bytes of names and dims
// dims in all.
func keepSpecs(c *wire.Cursor, n, text, dims int) []Spec {
	var names strings.Builder
	names.Grow(text)
	shapes := make([]uint64, 0, dims)
	all := make([]Spec, n)
	for i := range all {
		s := nextSpec(c)
		nameAt, dimsAt := names.Len(), len(shapes)
		names.Write(s.name)
		for b := s.dims; len(b) >= 8; b = b[8:] {
			shapes = append(shapes, binary.LittleEndian.Uint64(b))
		}
		all[i] = Spec{Name: names.String()[nameAt:], Type: s.typ, Dims: shapes[dimsAt:len(shapes):len(shapes)]}
	}
	return all
}
