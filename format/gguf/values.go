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
		return fmt.Errorf("%w: %s values", format.ErrUnsupported, driver.TypeName(v))
	}
	return nil
}

func elems[T any](w *wire.Buffer, list []T) {
	var zero T
	t, _ := scalarType(zero)
	w.U32(uint32(t))
	w.U64(uint64(len(list)))
	for _, x := range list {
		appendElem(w, x)
	}
}

// parseArray makes a slice of a JSON array whose elements are of one type.
func parseArray(text json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w: %w", format.ErrUnsupported, err)
	}
	switch v := v.(type) {
	case []any:
		return uniform(v, 1)
	case json.Number:
		return number(string(v))
	case string, bool:
		return v, nil
	}
	return nil, fmt.Errorf("%w: JSON objects and null", format.ErrUnsupported)
}

var errMixed = fmt.Errorf("%w: an array with elements of several types, or of none that the format has", format.ErrUnsupported)

// uniform makes a slice of the type that all elements have. An empty array is one
// of int32.
func uniform(list []any, depth int) (any, error) {
	if len(list) == 0 {
		return []int32{}, nil
	}
	switch list[0].(type) {
	case string:
		return all[string](list)
	case bool:
		return all[bool](list)
	case json.Number:
		texts, err := all[json.Number](list)
		if err != nil {
			return nil, err
		}
		return numbers(texts)
	case []any:
		if depth >= maxDepth {
			return nil, fmt.Errorf("%w: arrays nested more than %d deep", format.ErrUnsupported, maxDepth)
		}
		out := make([]any, len(list))
		for i, x := range list {
			inner, ok := x.([]any)
			if !ok {
				return nil, errMixed
			}
			var err error
			if out[i], err = uniform(inner, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, errMixed
}

func all[T any](list []any) ([]T, error) {
	out := make([]T, len(list))
	for i, x := range list {
		v, ok := x.(T)
		if !ok {
			return nil, errMixed
		}
		out[i] = v
	}
	return out, nil
}

// numbers chooses the first of int32, int64, uint64, float32 and float64 that
// holds all of the numbers.
func numbers(texts []json.Number) (any, error) {
	whole, ok := make([]int64, len(texts)), true
	fits := true
	for i := 0; ok && i < len(texts); i++ {
		n, err := strconv.ParseInt(string(texts[i]), 10, 64)
		whole[i], ok = n, err == nil
		fits = fits && n == int64(int32(n))
	}
	if ok && fits {
		return convert(whole, func(n int64) int32 { return int32(n) }), nil
	}
	if ok {
		return whole, nil
	}
	large, ok := make([]uint64, len(texts)), true
	for i := 0; ok && i < len(texts); i++ {
		n, err := strconv.ParseUint(string(texts[i]), 10, 64)
		large[i], ok = n, err == nil
	}
	if ok {
		return large, nil
	}
	reals, single := make([]float64, len(texts)), true
	for i, text := range texts {
		x, exact := jsonmeta.Float(string(text))
		if !exact {
			return nil, fmt.Errorf("%w: %.40s in an array is no 64-bit number", format.ErrUnsupported, text)
		}
		reals[i] = x
		single = single && float64(float32(x)) == x
	}
	if single {
		return convert(reals, func(x float64) float32 { return float32(x) }), nil
	}
	return reals, nil
}

func convert[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}
