package jsonmeta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// Marshal returns the JSON object of m, with its keys in order. Raw values and
// json.Number keep their text. Float64 values that JSON lacks (NaN,
// infinities) become strings, as in format.Metadata.MarshalJSON. The result
// passes Check under o, or the error says why not.
func Marshal(m format.Metadata, o Options) ([]byte, error) {
	out := []byte{'{'}
	var err error
	for i, e := range m {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = AppendText(out, e.Key); err != nil {
			return nil, fmt.Errorf("key %q: %w", e.Key, err)
		}
		out = append(out, ':')
		if out, err = appendValue(out, e.Value); err != nil {
			return nil, fmt.Errorf("key %q: %w", e.Key, err)
		}
	}
	out = append(out, '}')
	if err := Check(out, o); err != nil {
		return nil, err
	}
	return out, nil
}

// AppendText appends a string. Unlike json.Marshal it replaces nothing, and it escapes only
// what must be, in the short form where there is one, as the JSON writers of other
// languages do.
func AppendText(b []byte, s string) ([]byte, error) {
	const short, letters = "\"\\\b\f\n\r\t", `"\bfnrt`
	if !utf8.ValidString(s) {
		return nil, &Error{int64(len(b)), "invalid UTF-8"}
	}
	b = append(b, '"')
	done := 0 // what is appended of s, which is done in runs
	for at := range len(s) {
		c := s[at]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[done:at]...)
		done = at + 1
		if i := strings.IndexByte(short, c); i >= 0 {
			b = append(b, '\\', letters[i])
		} else {
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	return append(append(b, s[done:]...), '"'), nil
}

// Value returns a value as one of the types of format.Entry: what is none is marshaled. What
// cannot be becomes the error that says why, which Marshal returns.
func Value(v any) any {
	switch v := driver.Number(v).(type) {
	case nil, string, bool, int64, float64, json.Number, json.RawMessage, error:
		return v
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("%w: %w", format.ErrUnsupported, err)
		}
		return json.RawMessage(text)
	}
}

// appendValue appends a value of any type that format.Entry has.
func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case string:
		return AppendText(b, v)
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return AppendText(b, strconv.FormatFloat(v, 'g', -1, 64))
		}
		return appendFloat(b, v), nil
	case json.Number:
		return appendWhole(b, []byte(v))
	case json.RawMessage:
		return appendWhole(b, v)
	case error:
		return nil, v
	}
	return appendValue(b, Value(v))
}

// appendFloat appends a finite number as encoding/json writes it, and so that it
// reads as what it is, not as an integer.
func appendFloat(b []byte, v float64) []byte {
	form, start := byte('f'), len(b)
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	b = strconv.AppendFloat(b, v, form, -1, 64)
	if n := len(b); form == 'e' && n-start >= 4 && b[n-4] == 'e' && b[n-2] == '0' {
		b = append(b[:n-2], b[n-1]) // e-9, not e-09
	}
	if !bytes.ContainsAny(b[start:], ".e") {
		b = append(b, '.', '0')
	}
	return b
}

// appendWhole appends text that must be exactly one value, so that it cannot
// close the object around it.
func appendWhole(b, text []byte) ([]byte, error) {
	s := scanner{b: text, opts: Options{LoneSurrogates: true}}
	s.space()
	if err := s.value(1); err != nil {
		return nil, err
	}
	if s.space(); s.i < len(text) {
		return nil, s.fail("text after the value")
	}
	return append(b, text...), nil
}

// Float returns the float64 that a number in a JSON text stands for. exact is
// false when the text has more digits than that takes, or is another spelling
// than any that this module writes.
func Float(text string) (x float64, exact bool) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	short := strings.TrimSuffix(text, ".0")
	for _, form := range []byte{'g', 'f'} {
		if strconv.FormatFloat(x, form, -1, 64) == short {
			return x, true
		}
	}
	return x, !math.IsInf(x, 0) && string(appendFloat(nil, x)) == text
}
