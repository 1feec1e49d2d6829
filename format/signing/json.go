package signing

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// maxDepth is how deep objects and arrays may nest.
const maxDepth = 32

// object is a JSON object and what it is called in errors. Its keys are unique and, other
// than encoding/json has it, as they are written.
type object struct {
	field  string
	values map[string]any
}

// fail returns an error about a field of a bundle.
func fail(field string, sentinel error, text string, args ...any) error {
	return wire.Errorf("", field, -1, sentinel, text, args...)
}

// parseObject parses one JSON object with nothing behind it.
func parseObject(b []byte, field string) (object, error) {
	if !utf8.Valid(b) {
		return object{}, fail(field, tensor.ErrCorrupt, "invalid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := parseValue(d, 0)
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = errors.New("text behind the JSON object")
		}
	} else if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return object{}, fail(field, tensor.ErrCorrupt, "%w", err)
	}
	o, ok := v.(map[string]any)
	if !ok {
		return object{}, fail(field, tensor.ErrCorrupt, "no JSON object")
	}
	return object{field, o}, nil
}

// parseValue parses the next value.
func parseValue(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	delim, nested := t.(json.Delim)
	if err != nil || !nested {
		return t, err
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("JSON of more than %d levels", maxDepth)
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			v, err := parseValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	values := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := key.(string)
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("key %.100q occurs twice", name)
		}
		if values[name], err = parseValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err = d.Token()
	return values, err
}

func (o object) name(key string) string {
	if o.field == "" {
		return key
	}
	return o.field + "." + key
}

// has reports whether there is a value other than null.
func (o object) has(key string) bool { return o.values[key] != nil }

// get returns a value of a type, which must be there.
func get[T any](o object, key string) (v T, err error) {
	v, ok := o.values[key].(T)
	switch {
	case ok:
	case !o.has(key):
		err = fail(o.name(key), tensor.ErrCorrupt, "it is missing")
	default:
		err = fail(o.name(key), tensor.ErrCorrupt, "it has the wrong JSON type")
	}
	return v, err
}

// object returns an object within this one.
func (o object) object(key string) (object, error) {
	v, err := get[map[string]any](o, key)
	return object{o.name(key), v}, err
}

// objects returns the elements of an array.
func (o object) objects(key string) ([]object, error) {
	list, err := get[[]any](o, key)
	if err != nil {
		return nil, err
	}
	out := make([]object, len(list))
	for i, v := range list {
		e, ok := v.(map[string]any)
		if !ok {
			return nil, fail(o.name(key), tensor.ErrCorrupt, "element %d is no JSON object", i)
		}
		out[i] = object{o.name(key), e}
	}
	return out, nil
}

// is demands a text.
func (o object) is(key, want string) error {
	got, err := get[string](o, key)
	if err == nil && got != want {
		err = fail(o.name(key), driver.ErrUnsupported, "%.100q, not %q", got, want)
	}
	return err
}

// bytes returns what a text is in Base64, of which there is one way to write it.
func (o object) bytes(key string) ([]byte, error) {
	text, err := get[string](o, key)
	if err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || base64.StdEncoding.EncodeToString(b) != text {
		return nil, fail(o.name(key), tensor.ErrCorrupt, "it is not Base64")
	}
	return b, nil
}
