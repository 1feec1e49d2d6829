package mobi

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// What fits its field is checked while encoding; what else readers demand,
// document.check finds by reading the result.

// encodeHead makes model metadata and specs.
func encodeHead(m *modelInfo) ([]byte, error) {
	var b wire.Buffer
	if err := appendName(&b, m.name); err != nil {
		return nil, planError("model name", err)
	}
	b.U32(m.framework)
	b.U64(m.created)
	b.U32(uint32(len(m.inputs)))
	b.U32(uint32(len(m.outputs)))
	for _, specs := range [][]Spec{m.inputs, m.outputs} {
		for _, s := range specs {
			if err := appendSpec(&b, &s); err != nil {
				return nil, planError(fmt.Sprintf("spec %q", s.Name), err)
			}
		}
	}
	return b.Bytes(), nil
}

// appendName appends a length of four bytes and the name.
func appendName(b *wire.Buffer, s string) error {
	if err := fits("name length", len(s), math.MaxUint32); err != nil {
		return err
	}
	b.U32(uint32(len(s)))
	b.Str(s)
	return nil
}

func appendSpec(b *wire.Buffer, s *Spec) error {
	if err := appendName(b, s.Name); err != nil {
		return err
	}
	if err := fits("rank", len(s.Dims), math.MaxUint16); err != nil {
		return err
	}
	b.U16(uint16(len(s.Dims)))
	b.U16(uint16(s.Type))
	for _, d := range s.Dims {
		b.U64(d)
	}
	return nil
}

// encodeGraph makes the operator graph.
func encodeGraph(ops []Operator) ([]byte, error) {
	var b wire.Buffer
	if err := fits("operator count", len(ops), math.MaxUint32); err != nil {
		return nil, planError("operators", err)
	}
	b.U32(uint32(len(ops)))
	for i := range ops {
		if err := appendOperator(&b, &ops[i]); err != nil {
			return nil, planError(fmt.Sprintf("operator %d (%v)", i, ops[i].Type), err)
		}
	}
	return b.Bytes(), nil
}

func appendOperator(b *wire.Buffer, op *Operator) error {
	b.U16(uint16(op.Type))
	for _, n := range []int{len(op.Inputs), len(op.Outputs), len(op.Params)} {
		if err := fits("number of inputs, outputs or parameters", n, math.MaxUint16); err != nil {
			return err
		}
		b.U16(uint16(n))
	}
	for _, ids := range [][]uint32{op.Inputs, op.Outputs} {
		for _, id := range ids {
			b.U32(id)
		}
	}
	for _, p := range op.Params {
		if err := appendParam(b, &p); err != nil {
			return fmt.Errorf("parameter %q: %w", p.Name, err)
		}
	}
	return nil
}

func appendParam(b *wire.Buffer, p *Param) error {
	if err := fits("name length", len(p.Name), math.MaxUint16); err != nil {
		return err
	}
	b.U16(uint16(len(p.Name)))
	b.Str(p.Name)
	switch v := p.Value.(type) {
	case int32:
		b.U8(paramInt32)
		b.I32(v)
	case int64:
		b.U8(paramInt64)
		b.I64(v)
	case float32:
		b.U8(paramFloat32)
		b.F32(v)
	case float64:
		b.U8(paramFloat64)
		b.F64(v)
	case bool:
		b.U8(paramBool)
		if v {
			b.U8(1)
		} else {
			b.U8(0)
		}
	case string:
		b.U8(paramString)
		if !utf8.ValidString(v) {
			return fmt.Errorf("%w: string is not valid UTF-8", format.ErrCorrupt)
		}
		return appendName(b, v)
	case []int32:
		return appendArray(b, paramInt32s, v, b.I32)
	case []float32:
		return appendArray(b, paramFloat32s, v, b.F32)
	case []int64:
		return appendArray(b, paramInt64s, v, b.I64)
	default:
		return fmt.Errorf("%w: MOBI has no parameters of type %s", format.ErrUnsupported, driver.TypeName(v))
	}
	return nil
}

func appendArray[T any](b *wire.Buffer, code uint8, v []T, one func(T)) error {
	if err := fits("array length", len(v), math.MaxInt32); err != nil {
		return err
	}
	b.U8(code)
	b.I32(int32(len(v)))
	for _, x := range v {
		one(x)
	}
	return nil
}

// fits refuses what a field cannot say.
func fits(what string, n int, most uint64) error {
	if uint64(n) > most {
		return fmt.Errorf("%w: %s %d", format.ErrLimit, what, n)
	}
	return nil
}
