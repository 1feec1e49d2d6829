package jsonmeta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsontext"
	"github.com/weightmap/weightmap/tensor"
)

// Value parses a value of any type. Integers within int64 are int64; other numbers are json.Number
// with their original text; objects and arrays are json.RawMessage. Nothing aliases the text,
// unless Options.Alias is set.
func (s *Scanner) Value() (any, error) {
	from := s.i
	if s.at('"') {
		b, err := s.Text()
		return string(b), err
	}
	if err := s.Skip(); err != nil {
		return nil, err
	}
	switch raw := s.b[from:s.i:s.i]; raw[0] {
	case 't', 'f':
		return raw[0] == 't', nil
	case 'n':
		return nil, nil
	case '{', '[':
		if !s.o.Alias {
			raw = bytes.Clone(raw)
		}
		return json.RawMessage(raw), nil
	default:
		text := string(raw)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
			return n, nil
		}
		return json.Number(text), nil
	}
}

// Elements calls each for the elements of an array. value must be valid. Elements returns false if
// value is not an array or each returns false.
func Elements(value []byte, each func(raw []byte) bool) bool {
	s := NewScanner(value, checked)
	return s.Array(func(int) error {
		from := s.i
		if err := s.Skip(); err != nil {
			return err
		}
		if !each(value[from:s.i]) {
			return io.EOF
		}
		return nil
	}) == nil
}

// Text returns the content of a string with its quotes, which must be valid. The result aliases
// value unless it has escapes. whole is false if the string has a lone surrogate, which UTF-8
// cannot represent; ok is false if value is not a string.
func Text(value []byte) (text []byte, whole, ok bool) {
	s := NewScanner(value, checked)
	text, err := s.Text()
	return text, err == nil && s.lone < 0, err == nil
}

// Float returns the value of a JSON number. exact is false if the float64 does not have all digits
// of the text, or if the text is not in the usual form.
func Float(text string) (x float64, exact bool) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	for _, form := range []byte{'g', 'f'} {
		s := strconv.FormatFloat(x, form, -1, 64)
		if s == strings.TrimSuffix(text, ".0") || strings.Replace(s, "e-0", "e-", 1) == text {
			return x, !math.IsInf(x, 0)
		}
	}
	return x, false
}

// Marshal returns m as a JSON object with its keys in order. Raw values and json.Number are written
// unchanged. Values may also have the types of attributes that jsontext writes. Marshal fails if
// Parse would refuse the result with the options o.
func Marshal(m schema.Metadata, o Options) ([]byte, error) {
	w := jsontext.Writer{Finite: o.Finite}
	w.Raw("{")
	for i, e := range m {
		w.Key(i, e.Key)
		if err, bad := e.Value.(error); bad { // from Value
			w.Fail(err)
		} else if !w.Value(e.Value) {
			w.Fail(fmt.Errorf("%w: a %T has no JSON form", tensor.ErrUnsupported, e.Value))
		}
	}
	w.Raw("}")
	out, err := w.Done()
	if err == nil {
		_, err = Parse(out, o)
	}
	return out, err
}

// Value converts v to one of the types of format.Entry, by marshaling if necessary. If that fails,
// it returns the error as the value, and Marshal returns it.
func Value(v any) any {
	switch v := schema.Number(v).(type) {
	case nil, string, bool, int64, float64, json.Number, json.RawMessage, error:
		return v
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("%w: %w", tensor.ErrUnsupported, err)
		}
		return json.RawMessage(text)
	}
}
