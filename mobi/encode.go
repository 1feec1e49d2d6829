package mobi

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// paramType is a type of operator parameters, a code of the format.
type paramType uint8

const (
	paramInt32 paramType = iota
	paramInt64
	paramFloat32
	paramFloat64
	paramBool
	paramInt32s
	paramFloat32s
	paramString // an extension, and the next
	paramInt64s
)

// encodeHeader returns the header with its checksum.
func encodeHeader(h *Header) wire.Buffer {
	w := make(wire.Buffer, 0, headerSize)
	w.U32(h.Magic)
	w.U16(h.Version)
	w.U16(0) // reserved
	sumAt := len(w)
	w.U32(0) // header checksum, filled in below
	w.U32(uint32(h.Flags))
	w.U32(h.FileSize)
	w.U32(h.MetadataOffset)
	w.U32(h.TensorOffset)
	w.U32(h.GraphOffset)
	binary.LittleEndian.PutUint32(w[sumAt:], tensor.CRC32(w))
	return w
}

// encodeModel returns the model metadata and the specs.
func encodeModel(m *modelInfo) ([]byte, error) {
	var w wire.Buffer
	w.U32(uint32(len(m.name))) // name length
	w.Str(m.name)
	w.U32(m.framework)
	w.U64(m.created)
	w.U32(uint32(len(m.inputs)))  // input count
	w.U32(uint32(len(m.outputs))) // output count
	if m.name != "" {
		err := tensor.CheckName(m.name)
		if err != nil {
			return nil, wire.Refuse(formatName, "metadata and specs", "model name: %w", err)
		}
	}
	err := appendSpecs(&w, m.inputs)
	if err != nil {
		return nil, err
	}
	err = appendSpecs(&w, m.outputs)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// appendSpecs appends specs, whose names must be unique.
func appendSpecs(w *wire.Buffer, list []Spec) error {
	seen := make(map[string]bool)
	for i := range list {
		s := &list[i]
		err := appendSpec(w, s)
		if err != nil {
			return wire.Refuse(formatName, fmt.Sprintf("spec %q", s.Name), "%w", err)
		}
		if seen[s.Name] {
			return wire.Refuse(formatName, fmt.Sprintf("spec %q", s.Name),
				"spec name: %w: %q occurs twice", format.ErrCorrupt, s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

func appendSpec(w *wire.Buffer, s *Spec) error {
	err := tensor.CheckName(s.Name)
	if err != nil {
		return fmt.Errorf("spec name: %w", err)
	}
	err = checkCount("spec rank", len(s.Dims))
	if err != nil {
		return err
	}
	w.U32(uint32(len(s.Name))) // name length
	w.Str(s.Name)
	w.U16(uint16(len(s.Dims))) // rank
	w.U16(uint16(s.Type))
	for _, d := range s.Dims {
		w.U64(d)
	}
	return nil
}

func checkCount(what string, n int) error {
	if n > math.MaxUint16 {
		return fmt.Errorf("%w: %s %d", format.ErrLimit, what, n)
	}
	return nil
}

func boolByte(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}

// encodeOperators returns the operator graph.
func encodeOperators(list []Operator) ([]byte, error) {
	var w wire.Buffer
	w.U32(uint32(len(list)))
	for i := range list {
		op := &list[i]
		err := appendOperator(&w, op)
		if err != nil {
			return nil, wire.Refuse(formatName, fmt.Sprintf("operator %d (%v)", i, op.Type), "%w", err)
		}
	}
	return w, nil
}

func appendOperator(w *wire.Buffer, op *Operator) error {
	err := checkCount("operator input count", len(op.Inputs))
	if err != nil {
		return err
	}
	err = checkCount("operator output count", len(op.Outputs))
	if err != nil {
		return err
	}
	err = checkCount("operator parameter count", len(op.Params))
	if err != nil {
		return err
	}
	w.U16(uint16(op.Type))
	w.U16(uint16(len(op.Inputs)))  // input count
	w.U16(uint16(len(op.Outputs))) // output count
	w.U16(uint16(len(op.Params)))  // parameter count
	for _, id := range op.Inputs {
		w.U32(id)
	}
	for _, id := range op.Outputs {
		w.U32(id)
	}
	seen := make(map[string]bool, len(op.Params))
	for _, q := range op.Params {
		err := appendParam(w, q)
		if err != nil {
			return err
		}
		if seen[q.Name] {
			return fmt.Errorf("parameter name: %w: %q occurs twice", format.ErrCorrupt, q.Name)
		}
		seen[q.Name] = true
	}
	return nil
}

// appendParam appends a parameter. It refuses names and values that the format does not have.
func appendParam(w *wire.Buffer, q Param) error {
	err := checkCount("parameter name length", len(q.Name))
	if err != nil {
		return err
	}
	err = tensor.CheckName(q.Name)
	if err != nil {
		return fmt.Errorf("parameter name: %w", err)
	}
	w.U16(uint16(len(q.Name)))
	w.Str(q.Name)
	switch v := q.Value.(type) {
	case int32:
		w.U8(uint8(paramInt32))
		w.I32(v)
	case int64:
		w.U8(uint8(paramInt64))
		w.I64(v)
	case float32:
		w.U8(uint8(paramFloat32))
		w.U32(math.Float32bits(v))
	case float64:
		w.U8(uint8(paramFloat64))
		w.U64(math.Float64bits(v))
	case bool:
		w.U8(uint8(paramBool))
		w.U8(boolByte(v))
	case []int32:
		w.U8(uint8(paramInt32s))
		w.U32(uint32(len(v)))
		for _, n := range v {
			w.I32(n)
		}
	case []float32:
		w.U8(uint8(paramFloat32s))
		w.U32(uint32(len(v)))
		for _, x := range v {
			w.U32(math.Float32bits(x))
		}
	case []int64:
		w.U8(uint8(paramInt64s))
		w.U32(uint32(len(v)))
		w.I64s(v)
	case string:
		if !utf8.ValidString(v) {
			return fmt.Errorf("parameter value: %w: is not valid UTF-8", format.ErrCorrupt)
		}
		w.U8(uint8(paramString))
		w.U32(uint32(len(v)))
		w.Str(v)
	default:
		return fmt.Errorf("parameter type: %w: MOBI has no parameters of type %s",
			format.ErrUnsupported, schema.TypeName(q.Value))
	}
	return nil
}
