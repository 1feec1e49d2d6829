package driver

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Metadata is a file's key-value pairs in file order.
type Metadata []Entry

// Entry is one pair. Value is a string, bool, int64, float64, json.Number (a
// number that is to keep its text), json.RawMessage (any other JSON: objects,
// arrays), or nil (JSON null). From files whose metadata is JSON (MLE, WIA) numbers that are
// no int64 come as json.Number, also where a float64 was written; strings are all that
// safetensors and ONNX have.
type Entry struct {
	Key   string
	Value any
}

// Text returns the string that stands for the value in a format whose metadata is
// strings: a string itself, else its JSON text, numbers in their shortest form.
func (e Entry) Text() (string, error) {
	switch v := e.Value.(type) {
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
	return "", fmt.Errorf("%w: a value of type %T", ErrUnsupported, e.Value)
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
	var j jsonText
	j.object(m)
	return j.done()
}
