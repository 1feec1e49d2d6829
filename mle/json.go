package mle

import (
	"encoding/json"
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
		if x, ok := jsonmeta.Float(string(v)); ok {
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
		x, exact := jsonmeta.Float(string(raw))
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
