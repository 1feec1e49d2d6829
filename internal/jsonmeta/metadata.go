package jsonmeta

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/weightmap/weightmap/format"
)

// Metadata returns the pairs of a text that Check accepts, in its order, all in
// fresh memory. Integers within int64 are int64; other numbers keep their text
// as json.Number; objects and arrays are json.RawMessage as they are written.
func Metadata(b []byte) (format.Metadata, error) {
	n := 0
	if err := entries(b, func(_, _ []byte) { n++ }); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, nil
	}
	m := make(format.Metadata, 0, n)
	err := entries(b, func(key, raw []byte) {
		m = append(m, format.Entry{Key: string(plain(key)), Value: value(raw)})
	})
	return m, err
}

// entries calls f for the pairs of a checked text.
func entries(b []byte, f func(key, value []byte)) error {
	s := scanner{b: b, opts: Options{LoneSurrogates: true}}
	if s.space(); !s.at('{') {
		return s.fail("expected an object")
	}
	return s.object(1, func(key []byte, _ int) error {
		from := s.i
		err := s.value(1)
		if err == nil {
			f(key, b[from:s.i])
		}
		return err
	})
}

// Cost returns at least how many bytes Metadata takes for a checked text, and lists of
// the elements of its values.
func Cost(b []byte) (n int64) {
	_ = entries(b, func(key, value []byte) {
		n += EntryBytes + int64(len(key)+len(value))
		if value[0] == '[' {
			n += 16 * int64(1+bytes.Count(value, []byte{','}))
		}
	})
	return n
}

// value makes the Go value of one checked JSON value.
func value(raw []byte) any {
	switch raw[0] {
	case '"':
		return string(plain(raw[1 : len(raw)-1]))
	case 't', 'f':
		return raw[0] == 't'
	case 'n':
		return nil
	case '{', '[':
		return json.RawMessage(bytes.Clone(raw))
	}
	text := string(raw)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return n
	}
	return json.Number(text)
}
