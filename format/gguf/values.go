package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// appendValue appends type and value of a metadata entry.
func appendValue(b []byte, v any) ([]byte, error) {
	v, err := chosen(v)
	if err != nil {
		return nil, err
	}
	t, isList := typeOf(v)
	if isList {
		return appendList(binary.LittleEndian.AppendUint32(b, uint32(typeArray)), t, v, 1)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(t))
	if text, ok := v.(string); ok {
		return appendText(b, text), nil
	}
	return appendFixed(b, v)
}

// chosen gives the values that all formats have the type that files usually have:
// uint32 and int32 where they suffice, float32 where it is exact.
func chosen(v any) (any, error) {
	switch v := v.(type) {
	case int64:
		return narrow(v), nil
	case float64:
		return narrowFloat(v), nil
	case json.Number:
		return number(string(v))
	case json.RawMessage:
		return parseArray(v)
	}
	return v, nil
}

func narrow(n int64) any {
	switch {
	case n >= 0 && n <= math.MaxUint32:
		return uint32(n)
	case n >= math.MinInt32 && n < 0:
		return int32(n)
	}
	return Int64(n)
}

func narrowFloat(x float64) any {
	if single := float32(x); math.Float64bits(float64(single)) == math.Float64bits(x) {
		return single
	}
	return Float64(x)
}

// number chooses the type of a number that is written as text.
func number(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return narrow(n), nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && strconv.FormatUint(n, 10) == text {
		return n, nil
	}
	x, err := exactFloat(text)
	return narrowFloat(x), err
}

func exactFloat(text string) (float64, error) {
	x, exact := jsonmeta.Float(text)
	if !exact {
		return 0, fmt.Errorf("%w: %.40s is no 64-bit number", format.ErrUnsupported, text)
	}
	return x, nil
}

// typeOf returns the type of a value of the format, or that of the elements of a slice. Values of
// other types are lists of numValueTypes.
func typeOf(v any) (t valueType, isList bool) {
	switch v.(type) {
	case uint8, []uint8:
		t = typeUint8
	case int8, []int8:
		t = typeInt8
	case uint16, []uint16:
		t = typeUint16
	case int16, []int16:
		t = typeInt16
	case uint32, []uint32:
		t = typeUint32
	case int32, []int32:
		t = typeInt32
	case float32, []float32:
		t = typeFloat32
	case bool, []bool:
		t = typeBool
	case string, []string:
		t = typeString
	case uint64, []uint64:
		t = typeUint64
	case int64, Int64, []int64:
		t = typeInt64
	case float64, Float64, []float64:
		t = typeFloat64
	case []any:
		t = typeArray
	default:
		t = numValueTypes
	}
	switch v.(type) {
	case uint8, int8, uint16, int16, uint32, int32, float32, bool, string, uint64, int64, Int64, float64, Float64:
		return t, false
	}
	return t, true
}

// appendList appends the type of the elements, their number, and these.
func appendList(b []byte, t valueType, v any, depth int) (_ []byte, err error) {
	switch {
	case t == numValueTypes:
		return nil, fmt.Errorf("%w: a value of type %s", format.ErrUnsupported, driver.TypeName(v))
	case depth > maxDepth:
		return nil, fmt.Errorf("%w: arrays nested more than %d deep", format.ErrUnsupported, maxDepth)
	}
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(t))
	switch v := v.(type) {
	case []string:
		b = le.AppendUint64(b, uint64(len(v)))
		for _, s := range v {
			b = appendText(b, s)
		}
		return b, nil
	case []any:
		b = le.AppendUint64(b, uint64(len(v)))
		for _, x := range v {
			t, isList := typeOf(x)
			if !isList {
				t = numValueTypes
			}
			if b, err = appendList(b, t, x, depth+1); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	b = le.AppendUint64(b, uint64(binary.Size(v)/valueSizes[t]))
	return appendFixed(b, v)
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// appendFixed appends a value of a fixed size, or a slice of such values.
func appendFixed(b []byte, v any) ([]byte, error) {
	return binary.Append(b, binary.LittleEndian, v)
}

// parseArray makes a slice of a JSON array whose elements are of one type.
func parseArray(text json.RawMessage) (any, error) {
	if !json.Valid(text) {
		return nil, fmt.Errorf("%w: no JSON", format.ErrUnsupported)
	}
	switch text = bytes.TrimSpace(text); text[0] {
	case '[':
		return uniform(text, 1)
	case '{', 'n':
		return nil, fmt.Errorf("%w: JSON objects and null", format.ErrUnsupported)
	case '"':
		s, _, _ := jsonmeta.Text(text)
		return string(s), nil
	case 't', 'f':
		return text[0] == 't', nil
	}
	return number(string(text))
}

var errMixed = fmt.Errorf("%w: an array with elements of several types, or of none that the format has", format.ErrUnsupported)

// uniform makes a slice of the type that all elements of a JSON array have. An empty array is one
// of int32. Nothing but that slice is made of the elements.
func uniform(text []byte, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: arrays nested more than %d deep", format.ErrUnsupported, maxDepth)
	}
	n, first := 0, byte(0)
	ok := jsonmeta.Elements(text, func(raw []byte) bool {
		kind := raw[0]
		switch {
		case kind == '-' || kind >= '0' && kind <= '9':
			kind = '0'
		case kind == 'f':
			kind = 't'
		}
		if n++; n == 1 {
			first = kind
		}
		return kind == first && kind != '{' && kind != 'n'
	})
	switch {
	case !ok:
		return nil, errMixed
	case n == 0:
		return []int32{}, nil
	case first == '"':
		return all(text, n, func(raw []byte) (string, error) {
			s, _, _ := jsonmeta.Text(raw)
			return string(s), nil
		})
	case first == 't':
		return all(text, n, func(raw []byte) (bool, error) { return raw[0] == 't', nil })
	case first == '[':
		return all(text, n, func(raw []byte) (any, error) { return uniform(raw, depth+1) })
	}
	return numbers(text, n)
}

// all makes a slice of the n elements of a JSON array.
func all[T any](text []byte, n int, parse func(raw []byte) (T, error)) (list []T, err error) {
	list = make([]T, 0, n)
	jsonmeta.Elements(text, func(raw []byte) bool {
		var v T
		v, err = parse(raw)
		list = append(list, v)
		return err == nil
	})
	return list, err
}

// numbers chooses the first of int32, int64, uint64, float32 and float64 that
// holds all of the numbers.
func numbers(text []byte, n int) (any, error) {
	parse := func(raw []byte) (int32, error) {
		x, err := strconv.ParseInt(string(raw), 10, 32)
		return int32(x), err
	}
	if list, err := all(text, n, parse); err == nil {
		return list, nil
	}
	if list, err := all(text, n, func(raw []byte) (int64, error) { return strconv.ParseInt(string(raw), 10, 64) }); err == nil {
		return list, nil
	}
	if list, err := all(text, n, func(raw []byte) (uint64, error) { return strconv.ParseUint(string(raw), 10, 64) }); err == nil {
		return list, nil
	}
	single := true
	list, err := all(text, n, func(raw []byte) (float64, error) {
		x, err := exactFloat(string(raw))
		single = single && float64(float32(x)) == x
		return x, err
	})
	if err != nil || !single {
		return list, err
	}
	halves := make([]float32, n)
	for i, x := range list {
		halves[i] = float32(x)
	}
	return halves, nil
}
