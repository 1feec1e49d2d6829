// Package jsontext writes JSON for the few types that occur in metadata and graphs. The reflection
// of encoding/json would add 400 kB to a program.
package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/tensor"
)

// Writer appends JSON values to B. The first error sticks.
type Writer struct {
	// Replace replaces invalid UTF-8 by U+FFFD instead of failing.
	Replace bool
	// Finite makes NaN and infinities, which JSON lacks, an error. Otherwise they are written as
	// strings.
	Finite bool
	B      []byte

	err error
}

// Done returns the text.
func (w *Writer) Done() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	return w.B, nil
}

// Fail records an error.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Raw appends JSON text unchanged.
func (w *Writer) Raw(s string) { w.B = append(w.B, s...) }

// Text appends a string. It escapes only what JSON requires, in the shortest form.
func (w *Writer) Text(s string) {
	const short, letters = "\"\\\b\f\n\r\t", `"\bfnrt`
	if !utf8.ValidString(s) {
		if !w.Replace {
			w.Fail(fmt.Errorf("%w: invalid UTF-8", tensor.ErrCorrupt))
			return
		}
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	w.B = append(w.B, '"')
	from := 0 // the end of what was escaped last
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		w.B = append(w.B, s[from:i]...)
		from = i + 1
		if k := strings.IndexByte(short, c); k >= 0 {
			w.B = append(w.B, '\\', letters[k])
		} else {
			w.B = fmt.Appendf(w.B, `\u%04x`, c)
		}
	}
	w.B = append(w.B, s[from:]...)
	w.B = append(w.B, '"')
}

// Key appends the key of member i of an object, and a comma before it unless i is 0.
func (w *Writer) Key(i int, key string) {
	if i > 0 {
		w.Raw(",")
	}
	w.Text(key)
	w.Raw(":")
}

// Int appends an integer.
func (w *Writer) Int(v int64) { w.B = strconv.AppendInt(w.B, v, 10) }

// Uint appends an unsigned integer.
func (w *Writer) Uint(v uint64) { w.B = strconv.AppendUint(w.B, v, 10) }

// Bool appends a bool.
func (w *Writer) Bool(v bool) { w.B = strconv.AppendBool(w.B, v) }

// Float appends a float of 32 or 64 bits, with a point or an exponent.
func (w *Writer) Float(v float64, bits int) {
	abs := math.Abs(v)
	switch {
	case (math.IsNaN(v) || math.IsInf(v, 0)) && w.Finite:
		w.Fail(fmt.Errorf("%w: %v has no JSON form", tensor.ErrUnsupported, v))
		return
	case math.IsNaN(v) || math.IsInf(v, 0):
		w.Text(strconv.FormatFloat(v, 'g', -1, 64))
		return
	case abs != 0 && (abs < 1e-6 || abs >= 1e21):
		w.B = strconv.AppendFloat(w.B, v, 'e', -1, bits)
		return
	}
	start := len(w.B)
	w.B = strconv.AppendFloat(w.B, v, 'f', -1, bits)
	if bytes.IndexByte(w.B[start:], '.') < 0 {
		w.B = append(w.B, '.', '0')
	}
}

// Whole appends a JSON value unchanged, or null for nil.
func (w *Writer) Whole(v []byte) {
	switch {
	case v == nil:
		w.Raw("null")
	case !json.Valid(v):
		w.Fail(fmt.Errorf("%w: %.40q is not one JSON value", tensor.ErrCorrupt, v))
	default:
		w.B = append(w.B, v...)
	}
}

// Number appends a number unchanged.
func (w *Writer) Number(v json.Number) {
	if v == "" || v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		w.Fail(fmt.Errorf("%w: %.40q is no JSON number", tensor.ErrCorrupt, v))
		return
	}
	w.Whole([]byte(v))
}

// List appends an array.
func List[T any](w *Writer, list []T, each func(T)) {
	w.Raw("[")
	for i, v := range list {
		if i > 0 {
			w.Raw(",")
		}
		each(v)
	}
	w.Raw("]")
}

// Value appends a metadata value, or an attribute other than a tensor or a graph. It returns false
// for other types.
func (w *Writer) Value(v any) bool {
	switch x := v.(type) {
	case nil:
		w.Raw("null")
	case string:
		w.Text(x)
	case bool:
		w.Bool(x)
	case int64:
		w.Int(x)
	case float64:
		w.Float(x, 64)
	case float32:
		w.Float(float64(x), 32)
	case json.Number:
		w.Number(x)
	case json.RawMessage:
		w.Whole(x)
	case []int64:
		List(w, x, w.Int)
	case []int32:
		List(w, x, func(v int32) { w.Int(int64(v)) })
	case []string:
		List(w, x, w.Text)
	case []float64:
		List(w, x, func(v float64) { w.Float(v, 64) })
	case []float32:
		List(w, x, func(v float32) { w.Float(float64(v), 32) })
	default:
		return false
	}
	return true
}
