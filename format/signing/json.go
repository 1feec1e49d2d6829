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

// scanning limits nesting to 32 levels.
var scanning = jsonmeta.Options{LoneSurrogates: true, MaxDepth: 32}

// object is a JSON object with its name in errors. Keys must be unique and match exactly, unlike in
// encoding/json. After an error, all values read are zero.
type object struct {
	field  string
	values map[string]any
	err    *error // the first error, shared by all objects of a text
}

// fail returns an error about a field of a bundle.
func fail(field string, sentinel error, text string, args ...any) error {
	return wire.Errorf("", field, -1, sentinel, text, args...)
}

// parseObject parses a JSON object that must be the whole of b.
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

// parseValue parses the value at the scanner's position.
func parseValue(s *jsonmeta.Scanner, b []byte) (any, error) {
	from := s.Offset()
	if from == len(b) {
		return nil, s.Skip() // fails
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

// fail records an error about the value of key, or about the object if key is "". The first error
// wins.
func (o object) fail(key string, sentinel error, text string, args ...any) {
	if *o.err == nil {
		*o.err = fail(o.name(key), sentinel, text, args...)
	}
}

// has reports whether the key has a value other than null.
func (o object) has(key string) bool { return o.values[key] != nil }

// get returns the value of key, which must exist and have type T.
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

// object returns the object at key.
func (o object) object(key string) object {
	return object{o.name(key), get[map[string]any](o, key), o.err}
}

// objects returns the objects of the array at key.
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

// someObjects is like objects, but fails with the message empty if the array is empty.
func (o object) someObjects(key, empty string) []object {
	list := o.objects(key)
	if len(list) == 0 {
		o.fail(key, tensor.ErrCorrupt, "%s", empty)
	}
	return list
}

// oneObject returns the only object of the array at key.
func (o object) oneObject(key string) object {
	list := o.objects(key)
	if len(list) != 1 {
		o.fail(key, tensor.ErrCorrupt, "%d elements, not one", len(list))
		return object{o.name(key), nil, o.err}
	}
	return list[0]
}

// is fails unless the value of key is the string want.
func (o object) is(key, want string) {
	if got := get[string](o, key); got != want {
		o.fail(key, driver.ErrUnsupported, "%.100q, not %q", got, want)
	}
}

// bytes decodes the string at key, which must be canonical Base64.
func (o object) bytes(key string) []byte {
	text := get[string](o, key)
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || base64.StdEncoding.EncodeToString(b) != text {
		o.fail(key, tensor.ErrCorrupt, "it is not Base64")
	}
	return b
}
