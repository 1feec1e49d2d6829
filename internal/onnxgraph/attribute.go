package onnxgraph

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// attribute translates an attribute. Old files do not say which type counts: it is that
// of the last value then.
func (r *Reader) attribute(m *protobuf.Message, msg protobuf.Field) (a driver.Attribute, err error) {
	var said, seen int32
	err = r.Source.Each(m, msg, func(f protobuf.Field) error {
		switch f.Num {
		case attributeName:
			return r.Source.Str(&a.Name, &f)
		case attributeType:
			said = int32(f.Val)
		default:
			if typ, ok := TypeOf(f.Num); ok {
				seen = typ
			}
		}
		return nil
	})
	if said == Undefined {
		said = seen
	}
	if err == nil {
		a.Value, err = r.value(said, m, msg)
	}
	return a, err
}

// value returns the value of an attribute as the neutral form has it, nil for one that is
// missing, and for types that the form does not have.
func (r *Reader) value(typ int32, m *protobuf.Message, msg protobuf.Field) (any, error) {
	switch typ {
	case Float:
		return read[float32](r, typ, m, msg)
	case Int:
		return read[int64](r, typ, m, msg)
	case String:
		return read[string](r, typ, m, msg)
	case Floats:
		return list[float32](r, typ, m, msg)
	case Ints:
		return list[int64](r, typ, m, msg)
	case Strings:
		return list[string](r, typ, m, msg)
	case Tensor, Graph:
		pieces := r.Source.Occurrences(m, msg, fieldOf(typ))
		switch {
		case pieces == nil:
			return nil, nil
		case typ == Tensor:
			return r.Tensor(pieces...)
		}
		return r.Read(pieces...)
	case Tensors:
		return each(r.Source.Occurrences(m, msg, fieldOf(typ)), r.Tensor)
	case Graphs:
		return each(r.Source.Occurrences(m, msg, fieldOf(typ)), r.Read)
	}
	return nil, nil
}

// fieldOf returns the field of the values of a type.
func fieldOf(typ int32) protowire.Number { return protowire.Number(typ + 1) }

// read reads the value of a type, zero when it is missing.
func read[T any](r *Reader, typ int32, m *protobuf.Message, msg protobuf.Field) (v T, err error) {
	err = r.Source.Read(m, msg, fieldOf(typ), &v)
	return v, err
}

// list is read for lists, which are empty when they are missing.
func list[T any](r *Reader, typ int32, m *protobuf.Message, msg protobuf.Field) ([]T, error) {
	v, err := read[[]T](r, typ, m, msg)
	return protobuf.OrEmpty(v), err
}

// each translates every message alone.
func each[T tensor.View | *driver.Graph](messages []protobuf.Field, translate func(...protobuf.Field) (T, error)) ([]T, error) {
	out := make([]T, len(messages))
	for i, msg := range messages {
		var err error
		if out[i], err = translate(msg); err != nil {
			return nil, err
		}
	}
	return out, nil
}
