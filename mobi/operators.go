package mobi

import (
	"encoding/binary"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
)

// operators checks the whole operator graph and takes the quantisation
// parameters out of it.
func (p *parser) operators() error {
	at := int64(p.header.GraphOffset)
	b, err := p.src.bytes(at, p.header.graphEnd()-at)
	if err != nil {
		return err
	}
	if !p.src.region.InMemory() {
		p.graph = b
	}
	s, err := p.checkOperators(b, at)
	if err != nil {
		return err
	}
	p.seen.operators = s
	if s.quantised > 0 {
		p.quantise(b, &s)
	}
	return nil
}

// survey is what checking the operators counted.
type survey struct {
	operators  int
	unknown    int // operators without a name
	extended   int // parameters of the types that are ours
	quantised  int // parameters that speak of quantisation
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
	s.quantised++
	s.inputs = max(s.inputs, input+1)
	switch kind {
	case quantScale:
		s.scales += len(q.value) / 4
	case quantZeroPoint:
		s.zeroPoints += len(q.value) / 4
	}
}

// Operators returns the operators in file order, in memory of their own.
func (f *File) Operators() ([]Operator, error) {
	if err := f.Region().Enter(); err != nil {
		return nil, err
	}
	defer f.Region().Leave()
	var ops []Operator
	err := f.Region().Guard(func() error {
		b, at := f.graph, int64(f.header.GraphOffset)
		if b == nil {
			var err error
			if b, err = f.Region().Slice(at, f.header.graphEnd()-at); err != nil {
				return err
			}
		}
		c := wire.NewCursor(name, b, at)
		ops = readOperators(&c)
		return c.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("reading the operators again: %w", err)
	}
	return ops, nil
}

// readOperators decodes an operator graph. Opening checked it, but the bytes
// may lie in a file that changed since: it may still fail.
func readOperators(c *wire.Cursor) []Operator {
	ops := make([]Operator, c.Count("operator count", uint64(c.U32("operator count")), operatorMin))
	for i := range ops {
		raw := nextOp(c)
		ids := make([]uint32, 0, (len(raw.inputs)+len(raw.outputs))/4)
		ids = appendIDs(appendIDs(ids, raw.inputs), raw.outputs)
		n := len(raw.inputs) / 4
		ops[i] = Operator{Type: raw.typ, Inputs: ids[:n:n], Outputs: ids[n:]}
		if raw.params > 0 {
			ops[i].Params = make([]Param, raw.params)
		}
		for j := range ops[i].Params {
			q := nextParam(c)
			if c.Err() != nil {
				return nil
			}
			ops[i].Params[j] = Param{Name: string(q.name), Value: q.decode()}
		}
	}
	return ops
}

func appendIDs(ids []uint32, b []byte) []uint32 {
	for ; len(b) >= 4; b = b[4:] {
		ids = append(ids, binary.LittleEndian.Uint32(b))
	}
	return ids
}
