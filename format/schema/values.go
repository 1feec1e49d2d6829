package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// Int64 returns the value of a key as an integer: a number without a fraction, or a string that is
// one.
func (m Metadata) Int64(key string) (int64, error) {
	return read(m, key, "an integer of 64 bits", func(e Entry) (int64, bool) {
		if x, ok := e.Value.(float64); ok {
			return integer(x, 1<<63)
		}
		text, _ := e.Text()
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
		// A number such as 1e3; up to 15 characters convert exactly.
		x, err := strconv.ParseFloat(text, 64)
		n, ok := integer(x, 1<<53)
		return n, ok && err == nil && len(text) <= 15
	})
}

// integer converts x if it is an integer with a magnitude below limit.
func integer(x, limit float64) (int64, bool) {
	if !(-limit <= x && x < limit) || x != math.Trunc(x) {
		return 0, false
	}
	return int64(x), true
}

// Float64 returns the value of a key as a number: a number, or a string that is one. Decimal
// fractions are rounded to the nearest float64; an integer that float64 cannot hold is an error.
func (m Metadata) Float64(key string) (float64, error) {
	return read(m, key, "a number that a float64 holds", func(e Entry) (float64, bool) {
		if x, ok := e.Value.(float64); ok {
			return x, true
		}
		text, _ := e.Text()
		x, err := strconv.ParseFloat(text, 64)
		isWhole := strings.Trim(text, "+-0123456789") == ""
		return x, err == nil && (!isWhole || digits(text) == digits(strconv.FormatFloat(x, 'f', 0, 64)))
	})
}

// digits returns the significant digits of an integer.
func digits(text string) string { return strings.TrimLeft(text, "+-0") }

// Text returns the value of a key as a string: a string, or Entry.Text of any other value but null.
func (m Metadata) Text(key string) (string, error) {
	return read(m, key, "a string", func(e Entry) (string, bool) {
		text, err := e.Text()
		return text, err == nil && e.Value != nil
	})
}

// Strings returns the value of a key as a list: a list of strings, or a string with a JSON array of
// them.
func (m Metadata) Strings(key string) ([]string, error) {
	return read(m, key, "a list of strings", func(e Entry) ([]string, bool) {
		if list, ok := e.Value.([]string); ok {
			return list, true
		}
		text, err := e.Text()
		var list []*string
		if err != nil || json.Unmarshal([]byte(text), &list) != nil || list == nil {
			return nil, false
		}
		out := make([]string, len(list))
		for i, s := range list {
			if s == nil {
				return nil, false
			}
			out[i] = *s
		}
		return out, true
	})
}

// read finds an entry and converts its value.
func read[T any](m Metadata, key, want string, convert func(Entry) (T, bool)) (T, error) {
	var none T
	v, ok := m.Get(key)
	err := tensor.ErrNotFound
	if ok {
		e := Entry{key, Number(v)}
		if x, ok := convert(e); ok {
			return x, nil
		}
		text, textErr := e.Text()
		if textErr != nil {
			text = TypeName(v)
		}
		err = fmt.Errorf("%w: %s is not %s", tensor.ErrUnsupported, text, want)
	}
	return none, &tensor.Error{Field: fmt.Sprintf("metadata %q", key), Offset: -1, Err: err}
}
