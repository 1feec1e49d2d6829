package driver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/weightmap/weightmap/tensor"
)

// jsonText is JSON being written, byte for byte as encoding/json writes it: for the few types
// that metadata and graphs are made of, that package's reflection would take 400 kB of a
// program that writes nothing else. The first error stays.
type jsonText struct {
	b   []byte
	err error
}

// raw appends text that is JSON already.
func (j *jsonText) raw(s string) { j.b = append(j.b, s...) }

// text appends a string.
func (j *jsonText) text(s string) {
	const hex = "0123456789abcdef"
	j.b = append(j.b, '"')
	done := 0 // what is appended of s, which is done in runs
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r >= ' ' && r != '"' && r != '\\' && r != '<' && r != '>' && r != '&' && r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || n > 1) {
			i += n
			continue
		}
		j.raw(s[done:i])
		i += n
		done = i
		switch r {
		case '"', '\\':
			j.b = append(j.b, '\\', byte(r))
		case '\b':
			j.raw(`\b`)
		case '\f':
			j.raw(`\f`)
		case '\n':
			j.raw(`\n`)
		case '\r':
			j.raw(`\r`)
		case '\t':
			j.raw(`\t`)
		default:
			j.b = append(j.b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
	}
	j.raw(s[done:])
	j.b = append(j.b, '"')
}

// integer appends a number.
func (j *jsonText) integer(v int64) { j.b = strconv.AppendInt(j.b, v, 10) }

// float appends a number of so many bits, one that JSON lacks as a string.
func (j *jsonText) float(v float64, bits int) {
	abs := math.Abs(v)
	form := byte('f')
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		j.text(strconv.FormatFloat(v, 'g', -1, 64))
		return
	case abs == 0:
	case bits == 64 && (abs < 1e-6 || abs >= 1e21), bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21):
		form = 'e'
	}
	j.b = strconv.AppendFloat(j.b, v, form, -1, bits)
	if n := len(j.b); form == 'e' && n >= 4 && j.b[n-4] == 'e' && j.b[n-3] == '-' && j.b[n-2] == '0' {
		j.b = append(j.b[:n-2], j.b[n-1]) // e-9, not e-09
	}
}

// whole appends JSON of somebody else's.
func (j *jsonText) whole(v []byte) {
	var compact, escaped bytes.Buffer
	if v == nil {
		v = []byte("null")
	}
	if err := json.Compact(&compact, v); err != nil {
		j.fail(err)
		return
	}
	json.HTMLEscape(&escaped, compact.Bytes())
	j.b = append(j.b, escaped.Bytes()...)
}

// number appends a number that keeps its text.
func (j *jsonText) number(v json.Number) {
	switch {
	case v == "":
		j.raw("0")
	case v[0] != '-' && (v[0] < '0' || v[0] > '9') || !json.Valid([]byte(v)):
		j.fail(fmt.Errorf("json: invalid number literal %q", v))
	default:
		j.raw(string(v))
	}
}

func (j *jsonText) fail(err error) {
	if j.err == nil {
		j.err = err
	}
}

// array appends a list.
func array[T any](j *jsonText, list []T, each func(T)) {
	j.raw("[")
	for i, v := range list {
		if i > 0 {
			j.raw(",")
		}
		each(v)
	}
	j.raw("]")
}

// nullable is array, but a list that is nil is null.
func nullable[T any](j *jsonText, list []T, each func(T)) {
	if list == nil {
		j.raw("null")
		return
	}
	array(j, list, each)
}

// value appends a value of any type that Entry and Attribute have.
func (j *jsonText) value(v any) {
	switch x := v.(type) {
	case nil:
		j.raw("null")
	case string:
		j.text(x)
	case bool:
		j.b = strconv.AppendBool(j.b, x)
	case int64:
		j.integer(x)
	case float64:
		j.float(x, 64)
	case float32:
		j.float(float64(x), 32)
	case json.Number:
		j.number(x)
	case json.RawMessage:
		j.whole(x)
	case []int64:
		nullable(j, x, j.integer)
	case []int32:
		nullable(j, x, func(v int32) { j.integer(int64(v)) })
	case []string:
		nullable(j, x, j.text)
	case []float64:
		array(j, x, func(v float64) { j.float(v, 64) })
	case []float32:
		array(j, x, func(v float32) { j.float(float64(v), 32) })
	case tensor.View:
		j.view(x)
	case []tensor.View:
		array(j, x, j.view)
	case *Graph:
		j.graph(x)
	case []*Graph:
		nullable(j, x, j.graph)
	default:
		j.fail(fmt.Errorf("%w: a value of type %s", ErrUnsupported, TypeName(v)))
	}
}

// view appends what a tensor is, not what is in it.
func (j *jsonText) view(v tensor.View) {
	j.raw(`{"dtype":`)
	j.text(v.DType().String())
	j.raw(`,"shape":`)
	array(j, v.Shape(), j.integer)
	j.raw("}")
}

// object appends entries in their order.
func (j *jsonText) object(m Metadata) {
	j.raw("{")
	for i, e := range m {
		if i > 0 {
			j.raw(",")
		}
		j.text(e.Key)
		j.raw(":")
		j.value(Number(e.Value))
	}
	j.raw("}")
}

// done returns the text.
func (j *jsonText) done() ([]byte, error) {
	if j.err != nil {
		return nil, j.err
	}
	return j.b, nil
}
