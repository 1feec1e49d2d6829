package mobi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/internal/wire"
)

// The memory of elements of the structure in bytes, without names and values.
const (
	operatorBytes = 200
	idBytes       = 36
	paramBytes    = 72
	specBytes     = 48 + 64
	dimBytes      = 8 + 24
)

// reserve counts n bytes of memory for the current section. After a failure it does nothing.
func (p *parser) reserve(field string, n int) {
	if p.r.Err() != nil {
		return
	}
	p.built += int64(n)
	err := p.opts.Memory.Reserve(int64(n))
	if err != nil {
		p.r.Fail(field, p.r.Offset(), err)
	}
	if p.room > 0 && p.built > p.room {
		p.r.Fail(field, p.r.Offset(),
			fmt.Errorf("%w: more than %d bytes of memory, unless Options.MaxMemory is set",
				format.ErrLimit, p.room))
	}
}

// readHeaderFields reads the header.
func readHeaderFields(r *wire.Record) (h Header, reserved uint16) {
	h.Magic = r.U32("magic")
	if h.Magic != magicNumber && h.Magic != magicASCII {
		r.Bad(format.ErrMagic, "% x instead of %q", binary.LittleEndian.AppendUint32(nil, h.Magic),
			"IBOM")
	}
	h.Version = r.U16("version")
	if h.Version != version {
		r.Bad(format.ErrVersion, "%d", h.Version)
	}
	reserved = r.U16("reserved")
	h.Checksum = r.U32("header checksum")
	h.Flags = Flags(r.U32("flags"))
	h.FileSize = r.U32("total file size")
	h.MetadataOffset = r.U32("metadata offset")
	h.TensorOffset = r.U32("tensor data offset")
	h.GraphOffset = r.U32("operator graph offset")
	return h, reserved
}

// readMetadata reads the model metadata and the specs, up to the first constant.
func (p *parser) readMetadata() {
	r := &p.r
	inputs, outputs := p.readModel()
	p.f.model.inputs = p.readSpecs(inputs)
	p.f.model.outputs = p.readSpecs(outputs)
	p.padding = r.Left()
	if r.Err() != nil {
		return
	}
	r.Begin()
	zeros := r.Bytes("padding", uint64(p.padding))
	rest := bytes.TrimLeft(zeros, "\x00")
	if len(rest) > 0 {
		r.BadItem("padding", len(zeros)-len(rest), format.ErrCorrupt,
			"%#x between the specs and the constants", rest[0])
	}
}

// readModel reads the model metadata up to the specs.
func (p *parser) readModel() (inputs, outputs int) {
	r := &p.r
	m := &p.f.model
	n := r.U32("model name length")
	if n > 0 {
		m.name = p.readName("model name", n)
	} else {
		r.Skip("model name", 0)
	}
	m.framework = r.U32("framework version")
	m.created = r.U64("creation timestamp")
	numInputs := r.U32("input count")
	numOutputs := r.U32("output count")
	r.Fits("input count", uint64(numInputs), specMin)
	r.Fits("output count", uint64(numOutputs), specMin)
	return int(numInputs), int(numOutputs)
}

// readName reads a name of n bytes.
func (p *parser) readName(field string, n uint32) string {
	b := p.r.Bytes(field, uint64(n))
	err := driver.CheckName(b)
	if err != nil {
		p.r.FailField(field, err)
	}
	return string(b)
}

// readSpecs reads n specs.
func (p *parser) readSpecs(n int) []Spec {
	r := &p.r
	p.reserve("spec", n*specBytes)
	if r.Err() != nil {
		return nil
	}
	list := make([]Spec, n)
	seen := make(map[string]bool)
	for i := range r.Records("", n, 0) {
		s := p.readSpec()
		p.reserve("spec", dimBytes*len(s.Dims))
		if seen[s.Name] {
			r.BadField("spec name", format.ErrCorrupt, "%q occurs twice", s.Name)
		}
		seen[s.Name] = true
		list[i] = s
	}
	return list
}

func (p *parser) readSpec() (s Spec) {
	r := &p.r
	length := r.U32("spec name length")
	s.Name = p.readName("spec name", length)
	rank := r.U16("spec rank")
	s.Type = DataType(r.U16("spec data type"))
	s.Dims = numbers[uint64](r.Items("spec dims", uint64(rank), 8), 8)
	return s
}

// numbers decodes numbers of size bytes each.
func numbers[T any](b []byte, size int) []T {
	list := make([]T, len(b)/size)
	vector.Copy(list, b, size)
	return list
}

// constantRecord is the header of a constant's record.
type constantRecord struct {
	at       int64 // file offset
	dataAt   int64 // file offset of the data
	id       uint32
	dataType uint16
	dims     wire.Uint64s
	size     uint64
}

// readConstant reads the header of a record. It is for errors, whose fields have the names here.
func readConstant(r *wire.Record) (c constantRecord) {
	c.id = r.U32("id")
	c.dataType = r.U16("data type")
	rank := r.U16("rank")
	c.dims = r.Uint64s("dims", uint64(rank))
	c.size = r.U64("data size")
	return c
}

// readOperators reads the operator graph.
func (p *parser) readOperators() {
	r := &p.r
	n := r.U32("operator count")
	r.Fits("operator count", uint64(n), operatorMin)
	p.reserve("operators", int(n)*operatorBytes)
	if r.Err() != nil {
		return
	}
	p.f.operators = make([]Operator, n)
	for i := range r.Records("", len(p.f.operators), 0) {
		op, params := p.readOperator()
		op.Params = p.readParams(params)
		p.f.operators[i] = op
	}
	if r.Left() > 0 {
		r.Fail("operators", r.Offset(),
			fmt.Errorf("%w: %d bytes between the last operator and the footer",
				format.ErrCorrupt, r.Left()))
	}
}

// readOperator reads an operator up to its parameters.
func (p *parser) readOperator() (op Operator, params int) {
	r := &p.r
	op.Type = OpType(r.U16("operator type"))
	inputs := r.U16("operator input count")
	outputs := r.U16("operator output count")
	numParams := r.U16("operator parameter count")
	op.Inputs = numbers[uint32](r.Items("operator inputs", uint64(inputs), 4), 4)
	op.Outputs = numbers[uint32](r.Items("operator outputs", uint64(outputs), 4), 4)
	r.Fits("operator parameter count", uint64(numParams), paramMin)
	p.reserve("operators", idBytes*(int(inputs)+int(outputs)))
	return op, int(numParams)
}

// readParams reads n parameters of an operator.
func (p *parser) readParams(n int) []Param {
	r := &p.r
	if n == 0 || r.Err() != nil {
		return nil
	}
	list := make([]Param, n)
	seen := make(map[string]bool, n)
	for i := range r.Records("", n, 0) {
		at := r.Offset()
		q := p.readParam()
		p.reserve("operators", paramBytes+int(r.Offset()-at))
		if seen[q.Name] {
			r.BadField("parameter name", format.ErrCorrupt, "%q occurs twice", q.Name)
		}
		seen[q.Name] = true
		list[i] = q
	}
	return list
}

func (p *parser) readParam() (q Param) {
	r := &p.r
	length := r.U16("parameter name length")
	q.Name = p.readName("parameter name", uint32(length))
	code := paramType(r.U8("parameter type"))
	q.Value = readValue(r, code)
	return q
}

// readValue reads the value of a parameter.
func readValue(r *wire.Record, code paramType) any {
	switch code {
	case paramInt32:
		return r.I32("parameter value")
	case paramInt64:
		return r.I64("parameter value")
	case paramFloat32:
		return math.Float32frombits(r.U32("parameter value"))
	case paramFloat64:
		return math.Float64frombits(r.U64("parameter value"))
	case paramBool:
		v := r.U8("parameter value")
		if v > 1 {
			r.Bad(format.ErrCorrupt, "bool is %d", v)
		}
		return v == 1
	case paramInt32s:
		return numbers[int32](readArray(r, 4), 4)
	case paramFloat32s:
		return numbers[float32](readArray(r, 4), 4)
	case paramInt64s:
		return numbers[int64](readArray(r, 8), 8)
	case paramString:
		n := r.U32("parameter string length")
		b := r.Bytes("parameter value", uint64(n))
		if !utf8.Valid(b) {
			r.Bad(format.ErrCorrupt, "is not valid UTF-8")
		}
		return string(b)
	}
	r.Bad(format.ErrUnsupported, "type %d", code)
	return nil
}

// readArray reads the bytes of an array of numbers of size bytes each.
func readArray(r *wire.Record, size uint64) []byte {
	n := r.U32("parameter array count")
	if n > math.MaxInt32 {
		r.Bad(format.ErrCorrupt, "is %d", int32(n))
	}
	return r.Items("parameter array", uint64(n), size)
}
