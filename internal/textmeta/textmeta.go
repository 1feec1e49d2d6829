// Package textmeta stores metadata of any type in formats whose metadata are strings, and reads
// them back.
//
// A value that is no string becomes its JSON text under its own key. One more entry,
// weightmap.types, names these keys and their types, so that a format with these types gets the
// values back.
package textmeta

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// Key is the key of the entry that says which values were no strings: a JSON object of keys and the
// names of types, such as {"epoch":"int64"}.
const Key = "weightmap.types"

// The names of types.
const (
	null    = "null"
	boolean = "bool"
	integer = "int64"
	float   = "float64"
	number  = "number" // any other JSON number
	raw     = "json"   // an object or array
)

// typeOf returns the name of a value's type, or "" for a string and for a value that has no text.
func typeOf(v any) string {
	switch v := schema.Number(v).(type) {
	case nil:
		return null
	case bool:
		return boolean
	case int64:
		return integer
	case float64:
		return float
	case json.Number:
		// Formats of JSON have no other type for a float64.
		if _, same := parse(string(v), float).(float64); same {
			return float
		}
		return number
	case json.RawMessage:
		return raw
	}
	return ""
}

// Check returns an error if an entry of m cannot be stored as a string.
func Check(m schema.Metadata, e schema.Entry) error {
	if _, err := e.Text(); err != nil {
		return err
	}
	typed := func(e schema.Entry) bool { return typeOf(e.Value) != "" }
	if e.Key == Key && slices.ContainsFunc(m, typed) {
		return fmt.Errorf("%w: the types of the other entries are stored under this key", tensor.ErrUnsupported)
	}
	return nil
}

// Encode returns the entries with strings for values, and Key at the end if not all of them were
// strings. Check has accepted them.
func Encode(m schema.Metadata) schema.Metadata {
	out := make(schema.Metadata, 0, len(m)+1)
	var types schema.Metadata
	for _, e := range m {
		text, _ := e.Text() // Check has made it
		if name := typeOf(e.Value); name != "" {
			types = append(types, schema.Entry{Key: e.Key, Value: name})
		}
		out = append(out, schema.Entry{Key: e.Key, Value: text})
	}
	if len(types) > 0 {
		text, _ := types.MarshalJSON() // of strings, which cannot fail
		out = append(out, schema.Entry{Key: Key, Value: string(text)})
	}
	return out
}

// Decode reverses Encode. A string that Encode does not make of a value of its type stays a string.
func Decode(m schema.Metadata) schema.Metadata {
	value, _ := m.Get(Key)
	text, ok := value.(string)
	if !ok {
		return m
	}
	var types map[string]string
	if err := json.Unmarshal([]byte(text), &types); err != nil {
		return m
	}
	out := make(schema.Metadata, 0, len(m))
	for _, e := range m {
		if e.Key == Key {
			continue
		}
		if text, ok := e.Value.(string); ok {
			e.Value = parse(text, types[e.Key])
		}
		out = append(out, e)
	}
	return out
}

// parse returns the value of a type that has the text, or the text if there is none.
func parse(text, name string) any {
	var v any
	var err error
	switch name {
	case null:
		v = nil
	case boolean:
		v, err = strconv.ParseBool(text)
	case integer:
		v, err = strconv.ParseInt(text, 10, 64)
	case float:
		v, err = strconv.ParseFloat(text, 64)
	case number:
		v = json.Number(text)
	case raw:
		v = json.RawMessage(text)
	default:
		return text
	}
	isJSON := name == number || name == raw
	if err != nil || isJSON && !fits(text, name) {
		return text
	}
	if again, err := (schema.Entry{Value: v}).Text(); err != nil || again != text {
		return text
	}
	return v
}

// fits reports whether a text is a JSON value of the type number or raw.
func fits(text, name string) bool {
	if !json.Valid([]byte(text)) {
		return false
	}
	isRaw := text[0] == '{' || text[0] == '['
	isNumber := text[0] == '-' || '0' <= text[0] && text[0] <= '9'
	return name == raw && isRaw || name == number && isNumber
}
