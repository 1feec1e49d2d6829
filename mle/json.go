package mle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// attributes makes neutral attributes of a JSON object.
func attributes(object json.RawMessage) ([]format.Attribute, error) {
	entries, err := jsonmeta.Metadata(object)
	if err != nil {
		return nil, err
	}
	out := make([]format.Attribute, len(entries))
	for i, e := range entries {
		out[i] = format.Attribute{Name: e.Key, Value: attributeValue(e.Value)}
	}
	return out, nil
}

// attributeValue gives numbers and plain lists their Go types where these say
// the same as the text, and leaves the rest as JSON.
func attributeValue(v any) any {
	switch v := v.(type) {
	case nil:
		return json.RawMessage("null")
	case json.Number:
		if x, ok := exactFloat(string(v)); ok {
			return x
		}
		return json.RawMessage(v)
	case json.RawMessage:
		if len(v) > 2 && v[0] == '[' {
			if list := listValue(v); list != nil {
				return list
			}
		}
	}
	return v
}

// listValue makes []int64, []float64 or []string of an array of nothing else.
func listValue(array json.RawMessage) any {
	n := 0
	jsonmeta.Elements(array, func([]byte) bool { n++; return true })
	if n == 0 {
		return nil
	}
	var ints []int64
	var floats []float64
	var texts []string
	ok := jsonmeta.Elements(array, func(raw []byte) bool {
		if text, whole, isText := jsonmeta.Text(raw); isText && whole {
			texts = put(texts, string(text), n)
			return ints == nil && floats == nil
		}
		if i, err := strconv.ParseInt(string(raw), 10, 64); err == nil && strconv.FormatInt(i, 10) == string(raw) {
			ints = put(ints, i, n)
			return texts == nil && floats == nil
		}
		x, exact := exactFloat(string(raw))
		floats = put(floats, x, n)
		return exact && texts == nil && ints == nil
	})
	switch {
	case !ok:
	case ints != nil:
		return ints
	case floats != nil:
		return floats
	case texts != nil:
		return texts
	}
	return nil
}

// put appends to a list that will have n elements.
func put[T any](list []T, v T, n int) []T {
	if list == nil {
		list = make([]T, 0, n)
	}
	return append(list, v)
}

// exactFloat parses a number that appendFloat writes the same way.
func exactFloat(text string) (float64, bool) {
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && string(appendFloat(nil, x, 64)) == text
}

// appendFloat writes a float64 or float32 as JSON that is not an integer.
func appendFloat(b []byte, x float64, bits int) []byte {
	start := len(b)
	b = strconv.AppendFloat(b, x, 'g', -1, bits)
	if !bytes.ContainsAny(b[start:], ".e") {
		b = append(b, '.', '0')
	}
	return b
}

// encodeAttributes makes a JSON object of neutral attributes, nil of none.
func encodeAttributes(field string, list []format.Attribute) (json.RawMessage, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := []byte{'{'}
	for i, a := range list {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendJSON(out, a.Name); err == nil {
			out, err = appendJSON(append(out, ':'), a.Value)
		}
		if err != nil {
			return nil, refuse(field, format.ErrUnsupported, "attribute %q: %v", a.Name, err)
		}
	}
	return append(out, '}'), nil
}

// appendJSON writes a value of metadata or attributes. Floats are written so
// that they read as such, and JSON as it is.
func appendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case string:
		return jsonmeta.AppendText(b, v)
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		return appendFinite(b, v, 64)
	case float32:
		return appendFinite(b, float64(v), 32)
	case json.Number:
		if _, err := strconv.ParseFloat(string(v), 64); err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("%q is not a number", string(v))
		}
		return appendRaw(b, []byte(v))
	case json.RawMessage:
		return appendRaw(b, v)
	case []int64:
		return appendList(b, v)
	case []int32:
		wide := make([]int64, len(v))
		for i, x := range v {
			wide[i] = int64(x)
		}
		return appendList(b, wide)
	case []float32:
		return appendList(b, v)
	case []float64:
		return appendList(b, v)
	case []string:
		return appendTexts(b, v)
	}
	if err, ok := v.(error); ok { // of jsonmeta.Value
		return nil, err
	}
	return nil, fmt.Errorf("a %T has no JSON form", v)
}

// appendRaw writes one JSON value as it is. Anything else could add keys.
func appendRaw(b, raw []byte) ([]byte, error) {
	if !json.Valid(raw) {
		return nil, fmt.Errorf("%.40q is not one JSON value", raw)
	}
	return append(b, raw...), nil
}

func appendList[T any](b []byte, list []T) (out []byte, err error) {
	out = append(b, '[')
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendJSON(out, v); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// appendTexts is appendList for text, which allocates nothing for each.
func appendTexts(b []byte, list []string) (out []byte, err error) {
	n := len("[]")
	for _, s := range list {
		n += len(s) + len(`"",`)
	}
	out = append(slices.Grow(b, n), '[')
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = jsonmeta.AppendText(out, s); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func appendFinite(b []byte, x float64, bits int) ([]byte, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, fmt.Errorf("%v has no JSON form", x)
	}
	return appendFloat(b, x, bits), nil
}
