package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/internal/jsontext"
	"github.com/weightmap/weightmap/tensor"
)

// Metadata is the key-value pairs of a file, in file order.
//
// Int64, Float64, Text and Strings convert the value of the first entry with a key, whatever type
// the format gave it: safetensors and ONNX store strings only. A conversion is exact or
// fails. Without the key the error wraps ErrNotFound; for a value that cannot be converted,
// ErrUnsupported.
type Metadata []Entry

// Entry is one pair of Metadata. The Value of an entry that was read is one of
//
//	string            the only type of safetensors and ONNX
//	bool
//	int64
//	float64           GGUF
//	json.Number       any other number of MLE and WIA, whose metadata is JSON
//	json.RawMessage   an object or array
//	nil               null
//
// A schema may also have values of Go's other types of numbers, for GGUF of the types that package
// gguf lists, and for MLE and WIA of any type that encoding/json marshals.
type Entry struct {
	Key   string // may occur more than once
	Value any    // of one of the types above
}

// Text returns the value as a format writes it that stores strings only: a string as it is, any
// other value as JSON. A float64 has the form of JSON with a point or an exponent, and NaN and
// infinities are as in Go.
func (e Entry) Text() (string, error) {
	switch v := Number(e.Value).(type) {
	case nil:
		return "null", nil
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return floatText(v), nil
	case json.Number:
		return string(v), nil
	case json.RawMessage:
		return string(v), nil
	}
	return "", fmt.Errorf("%w: a value of type %s", tensor.ErrUnsupported, TypeName(e.Value))
}

// floatText returns the text of a float64: 0.5, 5.0, 1e+21.
func floatText(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	var w jsontext.Writer
	w.Float(v, 64)
	return string(w.B)
}

// Number converts a number of any of Go's types to a type of Entry, with the same value: int64,
// json.Number for a larger unsigned integer, or float64. It returns any other value as it is.
func Number(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case int8:
		return int64(v)
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	case uint:
		return unsigned(uint64(v))
	case uint8:
		return int64(v)
	case uint16:
		return int64(v)
	case uint32:
		return int64(v)
	case uint64:
		return unsigned(v)
	case uintptr:
		return unsigned(uint64(v))
	case float32:
		return float64(v)
	}
	return v
}

func unsigned(n uint64) any {
	if n > math.MaxInt64 {
		return json.Number(strconv.FormatUint(n, 10))
	}
	return int64(n)
}

// Get returns the value of the first entry with the key, and whether there is one.
func (m Metadata) Get(key string) (any, bool) {
	for _, e := range m {
		if e.Key == key {
			return e.Value, true
		}
	}
	return nil, false
}

// MarshalJSON returns a JSON object with the keys in file order. NaN and infinities become strings.
func (m Metadata) MarshalJSON() ([]byte, error) {
	numbers := slices.Clone(m)
	for i := range numbers {
		numbers[i].Value = Number(numbers[i].Value)
	}
	return marshal(numbers)
}
