package mobi

import (
	"encoding/binary"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// Operator is one step of the graph. Ids name constants, values that other
// operators make, and inputs of the model; ids that nothing defines are legal.
type Operator struct {
	Type    OpType
	Inputs  []uint32
	Outputs []uint32
	Params  []Param // names are unique
}

// Param returns the value of the parameter of that name.
func (o *Operator) Param(name string) (any, bool) {
	for _, p := range o.Params {
		if p.Name == name {
			return p.Value, true
		}
	}
	return nil, false
}

// rawOp is the head of an operator as it is in the file; its parameters
// follow and are read with nextParam.
type rawOp struct {
	typ     OpType
	inputs  []byte // 4 bytes each
	outputs []byte
	params  int
}

// nextOp reads the head of an operator.
func nextOp(c *wire.Cursor) rawOp {
	o := rawOp{typ: OpType(c.U16("operator type"))}
	in, out := c.U16("operator input count"), c.U16("operator output count")
	n := c.U16("operator parameter count")
	o.inputs = c.Bytes("operator inputs", 4*uint64(in))
	o.outputs = c.Bytes("operator outputs", 4*uint64(out))
	o.params = c.Count("operator parameter count", uint64(n), paramMin)
	return o
}

// operators checks the whole operator graph and takes the quantization
// parameters out of it.
func (p *parser) operators() error {
	at := int64(p.header.GraphOffset)
	b, err := driver.Private(p.src, at, p.header.graphEnd()-at)
	if err != nil {
		return err
	}
	s, err := p.checkOperators(b, at)
	if err != nil {
		return err
	}
	p.graph, p.seen.operators = b, s
	if s.quantized > 0 {
		p.quantize(b, &s)
	}
	return nil
}

// survey is what checking the operators counted.
type survey struct {
	operators  int
	unknown    int // operators without a name
	extended   int // parameters of the types that are ours
	quantized  int // parameters that speak of quantization
	scales     int // values in those that are scales
	zeroPoints int
	inputs     int // how many inputs of one operator they speak of, at most
}

// checkOperators reads the operator graph b from its count to its end.
func (p *parser) checkOperators(b []byte, at int64) (survey, error) {
	var s survey
	c := wire.NewCursor(name, b, at)
	s.operators = c.Count("operator count", uint64(c.U32("operator count")), operatorMin)
	for range s.operators {
		op := nextOp(&c)
		if !op.typ.Known() {
			s.unknown++
		}
		if op.params > 0 {
			p.names.reset(op.params)
		}
		for range op.params {
			q := nextParam(&c)
			if c.Err() == nil && !p.names.add(q.name) {
				c.Failf("parameter name", q.at, format.ErrCorrupt, "%q occurs twice", q.name)
			}
			if c.Err() != nil {
				return s, c.Err()
			}
			s.count(&op, &q)
		}
		if c.Err() != nil {
			return s, c.Err()
		}
	}
	if c.Err() == nil && c.Left() > 0 {
		c.Failf("operators", c.Offset(), format.ErrCorrupt, "%d bytes between the last operator and the footer", c.Left())
	}
	return s, c.Err()
}

// count takes note of a parameter.
func (s *survey) count(op *rawOp, q *rawParam) {
	if q.typ >= paramString {
		s.extended++
	}
	input, kind := quantParam(q.name)
	if kind == notQuant || input >= len(op.inputs)/4 {
		return
	}
	s.quantized++
	s.inputs = max(s.inputs, input+1)
	switch kind {
	case quantScale:
		s.scales += len(q.value) / 4
	case quantZeroPoint:
		s.zeroPoints += len(q.value) / 4
	}
}

// eachOperator walks the operator graph, which opening has checked. do reads the
// parameters.
func (f *parsed) eachOperator(do func(op *rawOp, c *wire.Cursor)) {
	c := wire.NewCursor(name, f.graph, int64(f.header.GraphOffset))
	var op rawOp
	for range c.U32("operator count") {
		op = nextOp(&c)
		do(&op, &c)
	}
}

// skipParams passes over the parameters of an operator.
func skipParams(op *rawOp, c *wire.Cursor) {
	for range op.params {
		nextParam(c)
	}
}

// decodeOperators decodes the operator graph.
func (f *parsed) decodeOperators() []Operator {
	ops := make([]Operator, 0, f.seen.operators.operators)
	f.eachOperator(func(raw *rawOp, c *wire.Cursor) {
		ids := make([]uint32, 0, (len(raw.inputs)+len(raw.outputs))/4)
		ids = appendIDs(appendIDs(ids, raw.inputs), raw.outputs)
		n := len(raw.inputs) / 4
		op := Operator{Type: raw.typ, Inputs: ids[:n:n], Outputs: ids[n:]}
		if raw.params > 0 {
			op.Params = make([]Param, raw.params)
		}
		for j := range op.Params {
			q := nextParam(c)
			op.Params[j] = Param{Name: string(q.name), Value: q.decode()}
		}
		ops = append(ops, op)
	})
	return ops
}

func appendIDs(ids []uint32, b []byte) []uint32 {
	for ; len(b) >= 4; b = b[4:] {
		ids = append(ids, binary.LittleEndian.Uint32(b))
	}
	return ids
}
