package jsonmeta

import "bytes"

// Lookup finds the value of a key of a text that Check accepts, without
// allocating unless keys are escaped. The value is nil when there is none.
func Lookup(b []byte, key string) (value []byte) {
	s := scanner{b: b, opts: Options{LoneSurrogates: true}}
	if s.space(); !s.take('{') {
		return nil
	}
	for {
		s.space()
		s.take(',')
		if s.space(); !s.at('"') {
			return nil
		}
		raw, err := s.text()
		if err != nil {
			return nil
		}
		s.space()
		s.take(':')
		s.space()
		from := s.i
		if s.value(1) != nil {
			return nil
		}
		if is(raw, key) {
			return b[from:s.i]
		}
	}
}

// is compares a string of a checked text, without its quotes.
func is(raw []byte, text string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw) == text
	}
	return string(unescape(raw)) == text
}

// Elements walks the elements of an array out of a text that Check accepts. It
// returns false when value is not an array, or when each does.
func Elements(value []byte, each func(raw []byte) bool) bool {
	s := scanner{b: value, opts: Options{LoneSurrogates: true}}
	if !s.take('[') {
		return false
	}
	for {
		if s.space(); s.take(']') {
			return true
		}
		s.take(',')
		s.space()
		from := s.i
		if s.value(1) != nil || !each(value[from:s.i]) {
			return false
		}
	}
}

// Text returns what a string, quotes included, out of a text that Check accepts
// stands for, aliasing it unless it has escapes. whole is false when there is
// a lone surrogate, which no UTF-8 stands for, and ok when it is not a string.
func Text(value []byte) (text []byte, whole, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false, false
	}
	raw := value[1 : len(value)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, true, true
	}
	strict := scanner{b: value}
	_, err := strict.text()
	return unescape(raw), err == nil, true
}
