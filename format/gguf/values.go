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
	"github.com/weightmap/weightmap/internal/wire"
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
	single := float32(x)
	if math.Float64bits(float64(single)) == math.Float64bits(x) {
		return single
	}
	return x
}

// number chooses the type of a number that is written as text.
func number(text string) (any, error) {
	n, _ := strconv.ParseInt(text, 10, 64)
	if strconv.FormatInt(n, 10) == text {
		return narrow(n), nil
	}
	u, _ := strconv.ParseUint(text, 10, 64)
	if strconv.FormatUint(u, 10) == text {
		return u, nil
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
func appendValue(b []byte, v any, depth int) ([]byte, error) {
	t, isList, ok := valueTypeOf(v)
	if !ok || !isList && depth > 1 {
		return nil, fmt.Errorf("%w: a value of type %s", format.ErrUnsupported, schema.TypeName(v))
	}
	if depth > maxDepth {
		return nil, errDeep
	}
	w := wire.Buffer(b)
	if isList && depth == 1 {
		w.U32(uint32(typeArray))
	}
	w.U32(uint32(t))
	switch v := v.(type) {
	case string:
		putText(&w, v)
		return w, nil
	case []string:
		w.U64(uint64(len(v)))
		for _, s := range v {
			putText(&w, s)
		}
		return w, nil
	case []any:
		w.U64(uint64(len(v)))
		return appendLists(w, v, depth+1)
	}
	if isList {
		w.U64(uint64(binary.Size(v)) / valueSizes[t])
	}
	return binary.Append(w, binary.LittleEndian, v)
}

func appendLists(b []byte, lists []any, depth int) ([]byte, error) {
	for _, list := range lists {
		appended, err := appendValue(b, list, depth)
		if err != nil {
			return nil, err
		}
		b = appended
	}
	return b, nil
}

// putText appends a text after its length.
func putText(w *wire.Buffer, s string) {
	w.U64(uint64(len(s)))
	w.Str(s)
}

var (
	errDeep  = fmt.Errorf("%w: arrays nested more than %d deep", format.ErrUnsupported, maxDepth)
	errMixed = fmt.Errorf("%w: an array with elements of several types, or of none that the format has",
		format.ErrUnsupported)
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
	first := bytes.TrimLeft(text[1:], " \t\r\n")[0]
	switch first {
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
func all[T any](text []byte, begin string, parse func(raw []byte) (T, error)) ([]T, error) {
	list := make([]T, 0, bytes.Count(text, []byte{','})+1)
	refused := errMixed // of a text that ends early
	whole := jsonmeta.Elements(text, func(raw []byte) bool {
		if strings.IndexByte(begin, raw[0]) < 0 {
			return false
		}
		v, err := parse(raw)
		if err != nil {
			refused = err
			return false
		}
		list = append(list, v)
		return true
	})
	if !whole {
		return nil, refused
	}
	return list, nil
}

// numbers chooses the first of int32, int64, uint64, float32 and float64 that
// holds all of the numbers.
func numbers(text []byte) (any, error) {
	const begin = "-0123456789"
	int32s, err := all(text, begin, parseInt32)
	if err == nil {
		return int32s, nil
	}
	int64s, err := all(text, begin, parseInt64)
	if err == nil {
		return int64s, nil
	}
	uint64s, err := all(text, begin, parseUint64)
	if err == nil {
		return uint64s, nil
	}
	float32s, err := all(text, begin, parseFloat32)
	if err == nil {
		return float32s, nil
	}
	return all(text, begin, parseFloat64)
}

func parseInt32(raw []byte) (int32, error) {
	n, err := strconv.ParseInt(string(raw), 10, 32)
	return int32(n), err
}

func parseInt64(raw []byte) (int64, error) { return strconv.ParseInt(string(raw), 10, 64) }

func parseUint64(raw []byte) (uint64, error) { return strconv.ParseUint(string(raw), 10, 64) }

func parseFloat32(raw []byte) (float32, error) {
	x, err := exactFloat(string(raw))
	if err != nil {
		return 0, err
	}
	if float64(float32(x)) != x {
		return 0, errMixed
	}
	return float32(x), nil
}

func parseFloat64(raw []byte) (float64, error) { return exactFloat(string(raw)) }
