package jsonmeta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsontext"
)

// Metadata returns the entries of an object that Check accepts, in order. The result does not alias
// b. Integers within int64 are int64; other numbers are json.Number with their original text;
// objects and arrays are json.RawMessage.
func Metadata(b []byte) (driver.Metadata, error) {
	var c Checker
	if err := c.walk(bytes.Clone(b), checked); err != nil {
		return nil, err
	}
	return c.Metadata(), nil
}

// Metadata is like the function Metadata, for the text checked last. Objects and arrays alias it.
func (c *Checker) Metadata() driver.Metadata {
	if len(c.pairs) == 0 {
		return nil
	}
	m := make(driver.Metadata, len(c.pairs))
	for i, p := range c.pairs {
		m[i] = driver.Entry{Key: string(c.key(p)), Value: value(c.b[p.from:p.to])}
	}
	return m
}

// Cost returns a lower bound in bytes on the memory of Metadata and of lists of the elements of its
// values. b must be valid.
func Cost(b []byte) int64 {
	var c Checker
	_ = c.walk(b, checked)
	return c.Cost()
}

// Cost is like the function Cost, for the text checked last.
func (c *Checker) Cost() (n int64) {
	for _, p := range c.pairs {
		value := c.b[p.from:p.to]
		n += EntryBytes + int64(len(c.key(p))+len(value))
		if value[0] == '[' {
			n += 16 * int64(1+bytes.Count(value, []byte{','}))
		}
	}
	return n
}

// value returns the Go value of a validated JSON value.
func value(raw []byte) any {
	switch raw[0] {
	case '"':
		return string(unescape(raw[1 : len(raw)-1]))
	case 't', 'f':
		return raw[0] == 't'
	case 'n':
		return nil
	case '{', '[':
		return json.RawMessage(raw[:len(raw):len(raw)])
	}
	text := string(raw)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return n
	}
	return json.Number(text)
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
	if len(value) < 2 || value[0] != '"' {
		return nil, false, false
	}
	strict := Scanner{b: value}
	_, err := strict.text()
	return unescape(value[1 : len(value)-1]), err == nil, true
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
// unchanged. NaN and infinities, which JSON lacks, become strings, as in
// format.Metadata.MarshalJSON. Marshal fails if Check would refuse the result with the options o.
func Marshal(m driver.Metadata, o Options) ([]byte, error) {
	var w jsontext.Writer
	w.Raw("{")
	for i, e := range m {
		w.Key(i, e.Key)
		v := Value(e.Value)
		if err, bad := v.(error); bad {
			w.Fail(err)
		}
		w.Value(v)
		if err := w.Err(); err != nil {
			return nil, fmt.Errorf("key %q: %w", e.Key, err)
		}
	}
	w.Raw("}")
	out, err := w.Done()
	if err == nil {
		err = Check(out, o)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Value converts v to one of the types of format.Entry, by marshaling if necessary. If that fails,
// it returns the error as the value, and Marshal returns it.
func Value(v any) any {
	switch v := driver.Number(v).(type) {
	case nil, string, bool, int64, float64, json.Number, json.RawMessage, error:
		return v
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("%w: %w", driver.ErrUnsupported, err)
		}
		return json.RawMessage(text)
	}
}
