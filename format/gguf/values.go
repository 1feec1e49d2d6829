package gguf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
)

// appendValue appends type and value of a metadata entry. What cannot be written
// is an error, behind which the buffer is of no use.
func appendValue(w *wire.Buffer, v any) error {
	v, err := chosen(v)
	if err != nil {
		return err
	}
	if t, ok := scalarType(v); ok {
		w.U32(uint32(t))
		appendElem(w, v)
		return nil
	}
	w.U32(uint32(typeArray))
	return appendList(w, v, 1)
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
	x, exact := jsonmeta.Float(text)
	if !exact {
		return nil, fmt.Errorf("%w: %.40s is no 64-bit number", format.ErrUnsupported, text)
	}
	return narrowFloat(x), nil
}

// scalarType returns the type of a value that is no array.
func scalarType(v any) (t valueType, ok bool) {
	switch v.(type) {
	case uint8:
		return typeUint8, true
	case int8:
		return typeInt8, true
	case uint16:
		return typeUint16, true
	case int16:
		return typeInt16, true
	case uint32:
		return typeUint32, true
	case int32:
		return typeInt32, true
	case float32:
		return typeFloat32, true
	case bool:
		return typeBool, true
	case string:
		return typeString, true
	case uint64:
		return typeUint64, true
	case int64, Int64:
		return typeInt64, true
	case float64, Float64:
		return typeFloat64, true
	}
	return 0, false
}

// appendElem appends a value that has a scalarType.
func appendElem(w *wire.Buffer, v any) {
	switch v := v.(type) {
	case uint8:
		w.U8(v)
	case int8:
		w.U8(uint8(v))
	case uint16:
		w.U16(v)
	case int16:
		w.U16(uint16(v))
	case uint32:
		w.U32(v)
	case int32:
		w.I32(v)
	case float32:
		w.F32(v)
	case bool:
		b := uint8(0)
		if v {
			b = 1
		}
		w.U8(b)
	case string:
		appendText(w, v)
	case uint64:
		w.U64(v)
	case int64:
		w.I64(v)
	case Int64:
		w.I64(int64(v))
	case float64:
		w.F64(v)
	case Float64:
		w.F64(float64(v))
	}
}

func appendText(w *wire.Buffer, s string) {
	w.U64(uint64(len(s)))
	w.Str(s)
}

// appendList appends an array: type and number of its elements, and these.
func appendList(w *wire.Buffer, v any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: arrays nested more than %d deep", format.ErrUnsupported, maxDepth)
	}
	switch v := v.(type) {
	case []uint8:
		elems(w, v)
	case []int8:
		elems(w, v)
	case []uint16:
		elems(w, v)
	case []int16:
		elems(w, v)
	case []uint32:
		elems(w, v)
	case []int32:
		elems(w, v)
	case []float32:
		elems(w, v)
	case []bool:
		elems(w, v)
	case []string:
		elems(w, v)
	case []uint64:
		elems(w, v)
	case []int64:
		elems(w, v)
	case []float64:
		elems(w, v)
	case []any:
		w.U32(uint32(typeArray))
		w.U64(uint64(len(v)))
		for _, x := range v {
			if err := appendList(w, x, depth+1); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("%w: a value of type %s", format.ErrUnsupported, driver.TypeName(v))
	}
	return nil
}

func elems[T any](w *wire.Buffer, list []T) {
	var zero T
	t, _ := scalarType(zero)
	w.U32(uint32(t))
	w.U64(uint64(len(list)))
	w.Grow(len(list) * valueSizes[t])
	for _, x := range list {
		appendElem(w, x)
	}
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
	case '"', 't', 'f':
		var v any
		err := json.Unmarshal(text, &v)
		return v, err
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
		x, exact := jsonmeta.Float(string(raw))
		if !exact {
			return 0, fmt.Errorf("%w: %.40s in an array is no 64-bit number", format.ErrUnsupported, raw)
		}
		single = single && float64(float32(x)) == x
		return x, nil
	})
	if err == nil && single {
		return all(text, n, func(raw []byte) (float32, error) {
			x, err := strconv.ParseFloat(string(raw), 32)
			return float32(x), err
		})
	}
	return list, err
}
