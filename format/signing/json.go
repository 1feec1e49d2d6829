package signing

import (
	"encoding/base64"
	"strings"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// object is a JSON object. Keys must be unique and match exactly, unlike in structs of
// encoding/json. After an error, all values read are zero.
type object struct {
	prefix string // of its fields in errors
	values schema.Metadata
	err    *error // the first error, shared by all objects of a text
}

// fail returns an error about a field of a bundle.
func fail(field string, sentinel error, text string, args ...any) error {
	return wire.Errorf("", field, -1, sentinel, text, args...)
}

// parseObject parses a JSON object that must be the whole of b.
func parseObject(b []byte, prefix string) object {
	decode := func(s *jsonmeta.Scanner, _ string) (any, error) { return value(s, b) }
	s := jsonmeta.NewScanner(b, jsonmeta.Options{LoneSurrogates: true, MaxDepth: 32, Value: decode})
	values, err := s.Metadata()
	if err == nil {
		err = s.End()
	}
	if err != nil {
		values = nil
		err = wire.Error("", strings.TrimSuffix(prefix, "."), -1, err)
	}
	return object{prefix, values, &err}
}

// value parses the value at the scanner's position. Objects become schema.Metadata.
func value(s *jsonmeta.Scanner, b []byte) (any, error) {
	switch at := s.Offset(); {
	case at < len(b) && b[at] == '{':
		return s.Metadata()
	case at < len(b) && b[at] == '[':
		var list []any
		err := s.Array(func(int) error {
			v, err := value(s, b)
			list = append(list, v)
			return err
		})
		return list, err
	}
	return s.Value()
}

// fail records an error about the value of key, unless there was one before.
func (o object) fail(key string, sentinel error, text string, args ...any) {
	if *o.err == nil {
		*o.err = fail(o.prefix+key, sentinel, text, args...)
	}
}

// has reports whether the key has a value other than null.
func (o object) has(key string) bool {
	v, _ := o.values.Get(key)
	return v != nil
}

// get returns the value of key, which must exist and have type T.
func get[T any](o object, key string) T {
	v, _ := o.values.Get(key)
	t, ok := v.(T)
	switch {
	case ok:
	case v == nil:
		o.fail(key, tensor.ErrCorrupt, "it is missing")
	default:
		o.fail(key, tensor.ErrCorrupt, "it has the wrong JSON type")
	}
	return t
}

// object returns the object at key.
func (o object) object(key string) object {
	return object{o.prefix + key + ".", get[schema.Metadata](o, key), o.err}
}

// objects returns the objects of the array at key, which must not be empty.
func (o object) objects(key string) (out []object) {
	list := get[[]any](o, key)
	if len(list) == 0 {
		o.fail(key, tensor.ErrCorrupt, "it is empty")
	}
	for i, v := range list {
		e, ok := v.(schema.Metadata)
		if !ok {
			o.fail(key, tensor.ErrCorrupt, "element %d is no JSON object", i)
		}
		out = append(out, object{o.prefix + key + ".", e, o.err})
	}
	return out
}

// only returns the only object of the array at key.
func (o object) only(key string) object {
	list := o.objects(key)
	if len(list) != 1 {
		o.fail(key, tensor.ErrCorrupt, "%d elements, not one", len(list))
		return object{err: o.err}
	}
	return list[0]
}

// is fails unless the value of key is the string want.
func (o object) is(key, want string) {
	if got := get[string](o, key); got != want {
		o.fail(key, tensor.ErrUnsupported, "%.100q, not %q", got, want)
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
