package jsonmeta

import (
	"bytes"
	"math"
)

// Scanner walks a text from front to back, for formats whose structure is JSON.
// It checks what it passes as Check does, except keys that occur twice, of which
// only Unique takes notice. It allocates for errors and for strings with escapes only.
type Scanner struct {
	s     scanner
	depth int
}

// NewScanner starts at the beginning of b, which must not change meanwhile.
func NewScanner(b []byte, o Options) Scanner { return Scanner{s: scanner{b: b, opts: o}} }

// Offset returns where the scanner is: at a value when a callback begins.
func (s *Scanner) Offset() int { return s.s.i }

// Object walks an object. each gets what a key stands for, and where it is, and
// walks its value.
func (s *Scanner) Object(each func(key []byte, at int) error) error {
	if s.s.space(); !s.s.at('{') {
		return s.s.fail("expected an object")
	}
	s.depth++
	err := s.s.object(s.depth, func(raw []byte, at int) error { return each(s.s.plain(raw), at) })
	s.depth--
	return err
}

// Unique walks an object whose keys are unlike, which takes 8 bytes for each. each walks
// a value.
func (s *Scanner) Unique(each func() error) error {
	var all keys
	s.s.space()
	from := s.s.i
	err := s.Object(func(k []byte, at int) error {
		all.add(k)
		return each()
	})
	if err == nil {
		err = all.unlike(s.s.b, from)
	}
	return err
}

// Array walks an array. each walks element i.
func (s *Scanner) Array(each func(i int) error) error {
	if s.s.space(); !s.s.at('[') {
		return s.s.fail("expected an array")
	}
	s.depth++
	err := s.s.array(s.depth, each)
	s.depth--
	return err
}

// Text walks a string and returns what it stands for, aliasing the text unless it
// has escapes.
func (s *Scanner) Text() ([]byte, error) {
	if !s.s.at('"') {
		return nil, s.s.fail("expected a string")
	}
	raw, err := s.s.text()
	return s.s.plain(raw), err
}

// plain returns what the string stands for that text has just walked.
func (s *scanner) plain(raw []byte) []byte {
	if !s.escaped {
		return raw
	}
	return unescape(raw)
}

// plain returns what a checked string stands for.
func plain(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return unescape(raw)
}

// Int walks an integer of 0 to 2^63-1, written without sign, fraction and exponent.
func (s *Scanner) Int() (n int64, err error) {
	b, start, i := s.s.b, s.s.i, s.s.i
	for ; i < len(b) && '0' <= b[i] && b[i] <= '9'; i++ {
		d := int64(b[i] - '0')
		if n > (math.MaxInt64-d)/10 {
			return 0, s.s.fail("an integer beyond 2^63-1")
		}
		n = 10*n + d
	}
	zero := i > start+1 && b[start] == '0'
	if i == start || zero || i < len(b) && (b[i] == '.' || b[i] == 'e' || b[i] == 'E') {
		return 0, s.s.fail("expected an integer that is not negative")
	}
	s.s.i = i
	return n, nil
}

// Null walks a null, if that is next.
func (s *Scanner) Null() bool {
	ok := bytes.HasPrefix(s.s.b[s.s.i:], []byte("null"))
	if ok {
		s.s.i += len("null")
	}
	return ok
}

// Skip walks any value.
func (s *Scanner) Skip() error { return s.s.value(s.depth) }

// End fails unless nothing but white space is left.
func (s *Scanner) End() error {
	if s.s.space(); s.s.i < len(s.s.b) {
		return s.s.fail("text after the object")
	}
	return nil
}
