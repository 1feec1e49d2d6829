package signing

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// scanning is how JSON is read: with objects and arrays of at most 32 levels.
var scanning = jsonmeta.Options{LoneSurrogates: true, MaxDepth: 32}

// object is a JSON object and what it is called in errors. Its keys are unique and, other
// than encoding/json has it, as they are written. What is read of it after an error is zero.
type object struct {
	field  string
	values map[string]any
	err    *error // the first, of all objects of a text
}

// fail returns an error about a field of a bundle.
func fail(field string, sentinel error, text string, args ...any) error {
	return wire.Errorf("", field, -1, sentinel, text, args...)
}

// parseObject parses one JSON object with nothing behind it.
func parseObject(b []byte, field string) (object, error) {
	o := object{field: field, err: new(error)}
	s := jsonmeta.NewScanner(b, scanning)
	v, err := parseObjectValue(&s, b)
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return o, &tensor.Error{Field: field, Offset: -1, Err: err}
	}
	o.values = v
	return o, nil
}

// parseObjectValue parses an object.
func parseObjectValue(s *jsonmeta.Scanner, b []byte) (map[string]any, error) {
	values := map[string]any{}
	err := s.Object(func(key []byte, at int) (err error) {
		name := string(key)
		if _, twice := values[name]; twice {
			return &jsonmeta.Error{Offset: int64(at), Reason: fmt.Sprintf("key %.100q occurs twice", name)}
		}
		values[name], err = parseValue(s, b)
		return err
	})
	return values, err
}

// parseValue parses the value where the scanner is.
func parseValue(s *jsonmeta.Scanner, b []byte) (any, error) {
	from := s.Offset()
	if from == len(b) {
		return nil, s.Skip() // which says so
	}
	switch b[from] {
	case '{':
		return parseObjectValue(s, b)
	case '[':
		list := []any{}
		err := s.Array(func(int) error {
			v, err := parseValue(s, b)
			list = append(list, v)
			return err
		})
		return list, err
	case '"':
		text, err := s.Text()
		return string(text), err
	case 't', 'f':
		return b[from] == 't', s.Skip()
	case 'n':
		return nil, s.Skip()
	}
	err := s.Skip()
	return json.Number(b[from:s.Offset()]), err
}

func (o object) name(key string) string {
	switch {
	case o.field == "":
		return key
	case key == "":
		return o.field
	}
	return o.field + "." + key
}

// fail keeps an error about a value, or about the object itself, unless there is one.
func (o object) fail(key string, sentinel error, text string, args ...any) {
	if *o.err == nil {
		*o.err = fail(o.name(key), sentinel, text, args...)
	}
}

// has reports whether there is a value other than null.
func (o object) has(key string) bool { return o.values[key] != nil }

// get returns a value of a type, which must be there.
func get[T any](o object, key string) T {
	v, ok := o.values[key].(T)
	switch {
	case ok:
	case !o.has(key):
		o.fail(key, tensor.ErrCorrupt, "it is missing")
	default:
		o.fail(key, tensor.ErrCorrupt, "it has the wrong JSON type")
	}
	return v
}

// object returns an object within this one.
func (o object) object(key string) object {
	return object{o.name(key), get[map[string]any](o, key), o.err}
}

// objects returns the elements of an array.
func (o object) objects(key string) []object {
	list := get[[]any](o, key)
	out := make([]object, len(list))
	for i, v := range list {
		e, ok := v.(map[string]any)
		if !ok {
			o.fail(key, tensor.ErrCorrupt, "element %d is no JSON object", i)
		}
		out[i] = object{o.name(key), e, o.err}
	}
	return out
}

// someObjects is objects of an array that must not be empty.
func (o object) someObjects(key, empty string) []object {
	list := o.objects(key)
	if len(list) == 0 {
		o.fail(key, tensor.ErrCorrupt, "%s", empty)
	}
	return list
}

// oneObject returns the only element of an array.
func (o object) oneObject(key string) object {
	list := o.objects(key)
	if len(list) != 1 {
		o.fail(key, tensor.ErrCorrupt, "%d elements, not one", len(list))
		return object{o.name(key), nil, o.err}
	}
	return list[0]
}

// is demands a text.
func (o object) is(key, want string) {
	if got := get[string](o, key); got != want {
		o.fail(key, driver.ErrUnsupported, "%.100q, not %q", got, want)
	}
}

// bytes returns what a text is in Base64, of which there is one way to write it.
func (o object) bytes(key string) []byte {
	text := get[string](o, key)
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || base64.StdEncoding.EncodeToString(b) != text {
		o.fail(key, tensor.ErrCorrupt, "it is not Base64")
	}
	return b
}
