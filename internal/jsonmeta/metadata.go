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
	var m format.Metadata
	s := scanner{b: b, opts: Options{LoneSurrogates: true}}
	if s.space(); !s.at('{') {
		return nil, s.fail("expected an object")
	}
	s.i++
	for {
		if s.space(); s.take('}') {
			return m, nil
		}
		s.take(',')
		if s.space(); !s.at('"') {
			return nil, s.fail("expected a key")
		}
		key, err := s.text()
		if err != nil {
			return nil, err
		}
		s.space()
		s.take(':')
		s.space()
		from := s.i
		if err := s.value(1); err != nil {
			return nil, err
		}
		m = append(m, format.Entry{Key: string(unescape(key)), Value: value(b[from:s.i])})
	}
}

// value makes the Go value of one checked JSON value.
func value(raw []byte) any {
	switch raw[0] {
	case '"':
		return string(unescape(raw[1 : len(raw)-1]))
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
