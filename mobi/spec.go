package mobi

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
)

// Dynamic is a dim of a Spec that is decided at run time.
const Dynamic uint64 = math.MaxUint64

// Spec describes an input or an output of the model. Dims are plain numbers and
// not multiplied with anything; the dtype is the file's code, known or not.
type Spec struct {
	Name string
	Type DataType
	Dims []uint64 // outermost first; Dynamic when not fixed
}

// NewSpec makes a Spec; negative dims are dynamic.
func NewSpec(name string, t DataType, dims ...int64) Spec {
	s := Spec{Name: name, Type: t, Dims: make([]uint64, len(dims))}
	for i, d := range dims {
		s.Dims[i] = uint64(d)
		if d < 0 {
			s.Dims[i] = Dynamic
		}
	}
	return s
}

// rawSpec is an input or output spec as it is in the file.
type rawSpec struct {
	at   int64 // file offset of the record
	name []byte
	typ  DataType
	dims []byte // 8 bytes each
}

// nextSpec reads one spec and checks its name.
func nextSpec(c *wire.Cursor) rawSpec {
	s := rawSpec{at: c.Offset()}
	s.name = nextName(c, "spec name", uint64(c.U32("spec name length")))
	rank := c.U16("spec rank")
	s.typ = DataType(c.U16("spec data type"))
	s.dims = c.Bytes("spec shape", 8*uint64(rank))
	return s
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
