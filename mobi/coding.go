package mobi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// coder reads or writes a section. Both directions visit the same fields and check them alike.
type coder struct {
	wire.Cursor              // in what is read; its error is that of either direction
	w           *wire.Buffer // what is written, nil for reading
	part        string       // the spec or operator with the error

	memory *driver.Memory
	room   int64 // limit on the decoded structure, in bytes; 0 for none
	built  int64 // bytes decoded so far
}

// refusal returns the error of what was written, which has no offset.
func (c *coder) refusal() error {
	var e *tensor.Error
	if !errors.As(c.Err(), &e) {
		return nil
	}
	return fmt.Errorf("%s: %w", e.Field, e.Err)
}

// The memory of elements of the structure in bytes, without names and values.
const (
	operatorBytes = 200
	idBytes       = 36
	paramBytes    = 72
	specBytes     = 48 + 64
	dimBytes      = 8 + 24
)

// reserve counts n bytes of memory for the current section.
func (c *coder) reserve(field string, n int) {
	err := c.memory.Reserve(int64(n))
	if c.built += int64(n); err == nil && c.room > 0 && c.built > c.room {
		err = fmt.Errorf("%w: more than %d bytes of memory, unless Options.MaxMemory is set", format.ErrLimit, c.room)
	}
	if err != nil {
		c.Fail(field, c.Offset(), err)
	}
}

// codeNumber codes a number.
func codeNumber[T ~uint8 | ~uint16 | ~uint32 | ~uint64](c *coder, field string, v *T) {
	size := bits.Len64(uint64(^T(0))) / 8
	*v = T(c.number(field, size, uint64(*v)))
}

func (c *coder) number(field string, size int, v uint64) (n uint64) {
	var little [8]byte
	binary.LittleEndian.PutUint64(little[:], v)
	for i, b := range c.bytes(field, uint64(size), little[:size]) {
		n |= uint64(b) << (8 * i)
	}
	return n
}

// bytes codes n bytes.
func (c *coder) bytes(field string, n uint64, b []byte) []byte {
	if c.w == nil {
		return c.Bytes(field, n)
	}
	c.w.Raw(b)
	return b
}

// native codes n numbers of size bytes each, which b has in the host's byte order.
func (c *coder) native(field string, b []byte, n, size int) []byte {
	if c.w != nil {
		b = slices.Clone(b)
		vector.Copy(b, b, size)
	}
	return c.bytes(field, uint64(n)*uint64(size), b)
}

// codeNumbers codes n numbers of size bytes each.
func codeNumbers[T any](c *coder, field string, list []T, n, size int) []T {
	b := c.native(field, memory.BytesOf(list), n, size)
	list = make([]T, len(b)/size)
	vector.Copy(list, b, size)
	return list
}

// count codes the length of a list.
func (c *coder) count(field string, n int) int {
	if err := checkCount(field, n); err != nil {
		c.Fail(field, c.Offset(), err)
	}
	v := uint16(n)
	codeNumber(c, field, &v)
	return int(v)
}

func checkCount(what string, n int) error {
	if n > math.MaxUint16 {
		return fmt.Errorf("%w: %s %d", format.ErrLimit, what, n)
	}
	return nil
}

// fits checks that n records of at least size bytes can be read.
func (c *coder) fits(field string, n, size uint64) {
	if c.w == nil {
		c.Count(field, n, size)
	}
}

// name codes a name and its length, of which field is the name. An optional one may be empty.
func (c *coder) name(field string, size int, s *string, optional bool) {
	n := uint32(len(*s))
	if size == 2 {
		n = uint32(c.count(field, len(*s)))
	} else {
		codeNumber(c, field, &n)
	}
	at, field := c.Offset(), strings.TrimSuffix(field, " length")
	b := c.bytes(field, uint64(n), []byte(*s))
	if *s = string(b); optional && n == 0 {
		return
	}
	if err := driver.CheckName(b); err != nil {
		c.Fail(field, at, err)
	}
}

// codeList codes the n elements of a list, each of which takes size bytes of memory, up to the first error.
func codeList[T any](c *coder, field string, list *[]T, n uint32, size int, code func(i int, x *T)) {
	if c.w == nil && c.Err() == nil {
		if c.reserve(field, int(n)*size); c.Err() == nil {
			*list = make([]T, n)
		}
	}
	for i := 0; i < len(*list) && c.Err() == nil; i++ {
		code(i, &(*list)[i])
	}
}

// unique refuses a name that was seen.
func (c *coder) unique(seen map[string]bool, field string, at int64, name string) {
	if seen[name] {
		c.Failf(field, at, format.ErrCorrupt, "%q occurs twice", name)
	}
	seen[name] = true
}

// codeHeader codes the header, without its checks.
func (c *coder) codeHeader(h *Header) {
	if codeNumber(c, "magic", &h.Magic); h.Magic != magicNumber && h.Magic != magicASCII {
		c.Failf("magic", 0, format.ErrMagic, "%08x", h.Magic)
	}
	if codeNumber(c, "version", &h.Version); h.Version != version {
		c.Failf("version", 4, format.ErrVersion, "%d", h.Version)
	}
	reserved := uint16(0) // readHeader checks it
	codeNumber(c, "reserved", &reserved)
	codeNumber(c, "header checksum", &h.Checksum)
	codeNumber(c, "flags", &h.Flags)
	codeNumber(c, "total file size", &h.FileSize)
	codeNumber(c, "metadata offset", &h.MetadataOffset)
	codeNumber(c, "tensor data offset", &h.TensorOffset)
	codeNumber(c, "operator graph offset", &h.GraphOffset)
}

// codeModel codes model metadata and specs.
func (c *coder) codeModel(m *modelInfo) {
	c.name("model name length", 4, &m.name, true)
	codeNumber(c, "framework version", &m.framework)
	codeNumber(c, "creation timestamp", &m.created)
	inputs, outputs := uint32(len(m.inputs)), uint32(len(m.outputs))
	codeNumber(c, "input count", &inputs)
	codeNumber(c, "output count", &outputs)
	c.fits("input and output count", uint64(inputs)+uint64(outputs), specMin)
	c.codeSpecs(&m.inputs, inputs)
	c.codeSpecs(&m.outputs, outputs)
}

// codeSpecs codes n specs.
func (c *coder) codeSpecs(list *[]Spec, n uint32) {
	seen := map[string]bool{}
	codeList(c, "spec", list, n, specBytes, func(_ int, s *Spec) {
		at := c.Offset()
		c.name("spec name length", 4, &s.Name, false)
		rank := c.count("spec rank", len(s.Dims))
		codeNumber(c, "spec data type", &s.Type)
		s.Dims = codeNumbers(c, "spec shape", s.Dims, rank, 8)
		c.reserve("spec", dimBytes*len(s.Dims))
		if c.unique(seen, "spec name", at, s.Name); c.Err() != nil {
			c.part = fmt.Sprintf("spec %q", s.Name)
		}
	})
}

// codeOperators codes the operator graph.
func (c *coder) codeOperators(list *[]Operator) {
	n := uint32(len(*list))
	codeNumber(c, "operator count", &n)
	c.fits("operator count", uint64(n), operatorMin)
	codeList(c, "operators", list, n, operatorBytes, func(i int, op *Operator) {
		if c.codeOperator(op); c.Err() != nil {
			c.part = fmt.Sprintf("operator %d (%v)", i, op.Type)
		}
	})
}

func (c *coder) codeOperator(op *Operator) {
	codeNumber(c, "operator type", &op.Type)
	inputs := c.count("operator input count", len(op.Inputs))
	outputs := c.count("operator output count", len(op.Outputs))
	params := c.count("operator parameter count", len(op.Params))
	op.Inputs = codeNumbers(c, "operator inputs", op.Inputs, inputs, 4)
	op.Outputs = codeNumbers(c, "operator outputs", op.Outputs, outputs, 4)
	c.fits("operator parameter count", uint64(params), paramMin)
	c.reserve("operators", idBytes*(inputs+outputs))
	if params == 0 || c.Err() != nil {
		return
	}
	seen := make(map[string]bool, params)
	codeList(c, "operators", &op.Params, uint32(params), 0, func(_ int, q *Param) {
		at := c.Offset()
		c.codeParam(q)
		c.unique(seen, "parameter name", at, q.Name)
	})
}
