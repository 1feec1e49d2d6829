package driver

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Metadata is a file's key-value pairs in file order.
type Metadata []Entry

// Entry is one pair. Value is a string, bool, int64, float64, json.Number (a
// number that is to keep its text), json.RawMessage (any other JSON: objects,
// arrays), or nil (JSON null). From files whose metadata is JSON (MLE, WIA) numbers that are
// no int64 come as json.Number, also where a float64 was written; strings are all that
// safetensors and ONNX have. Int64, Float64, String and Strings read values of any format.
//
// A plan may also have numbers of any other type of Go, see Number, and for MLE and WIA
// values of any type that encoding/json marshals. GGUF has types for those that its
// package lists.
type Entry struct {
	Key   string
	Value any
}

// Text returns the string that stands for the value in a format whose metadata is
// strings: a string itself, else its JSON text, numbers in their shortest form.
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
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case json.Number:
		return string(v), nil
	case json.RawMessage:
		return string(v), nil
	}
	return "", fmt.Errorf("%w: a value of type %s", ErrUnsupported, TypeName(e.Value))
}

// Number returns a number of any type that Go itself has as one that Entry has: an int64, a
// json.Number for an unsigned integer that is larger, or a float64, always with the same value.
// Anything else it returns as it is.
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

// Get returns the value of the first entry with that key.
func (m Metadata) Get(key string) (any, bool) {
	for _, e := range m {
		if e.Key == key {
			return e.Value, true
		}
	}
	return nil, false
}

// MarshalJSON writes one object with the keys in file order. Float64 values
// that JSON lacks (NaN, infinities) become strings.
func (m Metadata) MarshalJSON() ([]byte, error) {
	j := newJSON()
	j.Raw("{")
	for i, e := range m {
		if i > 0 {
			j.Raw(",")
		}
		j.Text(e.Key)
		j.Raw(":")
		j.value(Number(e.Value))
	}
	j.Raw("}")
	return j.Done()
}
