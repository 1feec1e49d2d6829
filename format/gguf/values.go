package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// chosen gives the values that all formats have the type that files usually have:
// uint32 and int32 where they suffice, float32 where it is exact.
func chosen(v any) (any, error) {
	switch v := v.(type) {
	case int64:
		return narrow(v), nil
	case Int64:
		return int64(v), nil
	case float64:
		return narrowFloat(v), nil
	case Float64:
		return float64(v), nil
	case json.Number:
		return number(string(v))
	case json.RawMessage:
		if !json.Valid(v) {
			return nil, fmt.Errorf("%w: no JSON", format.ErrUnsupported)
		}
		return fromJSON(bytes.TrimSpace(v), 1)
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
	return n
}

func narrowFloat(x float64) any {
	if single := float32(x); math.Float64bits(float64(single)) == math.Float64bits(x) {
		return single
	}
	return x
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

// valueTypeOf returns the type of a value, or that of the elements of a list.
func valueTypeOf(v any) (t valueType, isList, ok bool) {
	switch v.(type) {
	case uint8:
		return typeUint8, false, true
	case int8:
		return typeInt8, false, true
	case uint16:
		return typeUint16, false, true
	case int16:
		return typeInt16, false, true
	case uint32:
		return typeUint32, false, true
	case int32:
		return typeInt32, false, true
	case float32:
		return typeFloat32, false, true
	case bool:
		return typeBool, false, true
	case string:
		return typeString, false, true
	case uint64:
		return typeUint64, false, true
	case int64:
		return typeInt64, false, true
	case float64:
		return typeFloat64, false, true
	case []uint8:
		return typeUint8, true, true
	case []int8:
		return typeInt8, true, true
	case []uint16:
		return typeUint16, true, true
	case []int16:
		return typeInt16, true, true
	case []uint32:
		return typeUint32, true, true
	case []int32:
		return typeInt32, true, true
	case []float32:
		return typeFloat32, true, true
	case []bool:
		return typeBool, true, true
	case []string:
		return typeString, true, true
	case []any:
		return typeArray, true, true
	case []uint64:
		return typeUint64, true, true
	case []int64:
		return typeInt64, true, true
	case []float64:
		return typeFloat64, true, true
	}
	return 0, false, false
}

// appendValue appends the type of a value and the value; of a list the type and the number of the
// elements, and behind the type of lists unless it is in another one.
func appendValue(b []byte, v any, depth int) (_ []byte, err error) {
	t, isList, ok := valueTypeOf(v)
	switch {
	case !ok || !isList && depth > 1:
		return nil, fmt.Errorf("%w: a value of type %s", format.ErrUnsupported, schema.TypeName(v))
	case depth > maxDepth:
		return nil, errDeep
	}
	le := binary.LittleEndian
	if isList && depth == 1 {
		b = le.AppendUint32(b, uint32(typeArray))
	}
	b = le.AppendUint32(b, uint32(t))
	switch v := v.(type) {
	case string:
		return appendText(b, v), nil
	case []string:
		b = le.AppendUint64(b, uint64(len(v)))
		for _, s := range v {
			b = appendText(b, s)
		}
		return b, nil
	case []any:
		b = le.AppendUint64(b, uint64(len(v)))
		for i := 0; i < len(v) && err == nil; i++ {
			b, err = appendValue(b, v[i], depth+1)
		}
		return b, err
	}
	if isList {
		b = le.AppendUint64(b, uint64(binary.Size(v))/valueSizes[t])
	}
	return binary.Append(b, le, v)
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

var (
	errDeep  = fmt.Errorf("%w: arrays nested more than %d deep", format.ErrUnsupported, maxDepth)
	errMixed = fmt.Errorf("%w: an array with elements of several types, or of none that the format has", format.ErrUnsupported)
)

// fromJSON returns the value that a valid JSON text stands for; of an array a slice of the type
// that all elements have. An empty array is one of int32. Nothing but that slice is made of the
// elements.
func fromJSON(text []byte, depth int) (any, error) {
	switch text[0] {
	case '{', 'n':
		return nil, fmt.Errorf("%w: JSON objects and null", format.ErrUnsupported)
	case '"':
		return fromString(text)
	case 't', 'f':
		return fromBool(text)
	case '[':
		if depth > maxDepth {
			return nil, errDeep
		}
	default:
		return number(string(text))
	}
	switch first := bytes.TrimLeft(text[1:], " \t\r\n")[0]; first {
	case ']':
		return []int32{}, nil
	case '"':
		return all(text, `"`, fromString)
	case 't', 'f':
		return all(text, "tf", fromBool)
	case '[':
		return all(text, "[", func(raw []byte) (any, error) { return fromJSON(raw, depth+1) })
	}
	return numbers(text)
}

func fromString(text []byte) (string, error) {
	s, _, _ := jsonmeta.Text(text)
	return string(s), nil
}

func fromBool(text []byte) (bool, error) { return text[0] == 't', nil }

// all makes a slice of the elements of a JSON array, which begin with one of some characters.
func all[T any](text []byte, begin string, parse func(raw []byte) (T, error)) (list []T, err error) {
	list = make([]T, 0, bytes.Count(text, []byte{','})+1)
	whole := jsonmeta.Elements(text, func(raw []byte) bool {
		var v T
		if err = errMixed; strings.IndexByte(begin, raw[0]) >= 0 {
			v, err = parse(raw)
		}
		list = append(list, v)
		return err == nil
	})
	if !whole && err == nil {
		err = errMixed
	}
	return list, err
}

// numbers chooses the first of int32, int64, uint64, float32 and float64 that
// holds all of the numbers.
func numbers(text []byte) (any, error) {
	const begin = "-0123456789"
	if list, err := all(text, begin, func(raw []byte) (int32, error) {
		x, err := strconv.ParseInt(string(raw), 10, 32)
		return int32(x), err
	}); err == nil {
		return list, nil
	}
	if list, err := all(text, begin, func(raw []byte) (int64, error) { return strconv.ParseInt(string(raw), 10, 64) }); err == nil {
		return list, nil
	}
	if list, err := all(text, begin, func(raw []byte) (uint64, error) { return strconv.ParseUint(string(raw), 10, 64) }); err == nil {
		return list, nil
	}
	if list, err := all(text, begin, func(raw []byte) (float32, error) {
		x, err := exactFloat(string(raw))
		if float64(float32(x)) != x {
			err = errMixed
		}
		return float32(x), err
	}); err == nil {
		return list, nil
	}
	return all(text, begin, func(raw []byte) (float64, error) { return exactFloat(string(raw)) })
}
