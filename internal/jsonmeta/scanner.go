package jsonmeta

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Scanner parses a JSON text (RFC 8259) sequentially, for formats whose structure is JSON. It
// validates what it passes as Parse does, except that only Metadata detects duplicate keys. It
// allocates only for errors, metadata, and strings with escapes.
type Scanner struct {
	b     []byte
	i     int
	depth int
	lone  int // offset of the last unpaired surrogate, or -1
	o     Options
}

// NewScanner returns a Scanner at the start of b. b must not change while it is in use.
func NewScanner(b []byte, o Options) Scanner {
	if o.MaxDepth == 0 {
		o.MaxDepth = MaxDepth
	}
	return Scanner{b: b, lone: -1, o: o}
}

// Offset returns the current offset. When a callback is called, it is the start of a value.
func (s *Scanner) Offset() int { return s.i }

func (s *Scanner) fail(reason string) error { return &Error{int64(s.i), reason} }

// at reports whether the next byte is c.
func (s *Scanner) at(c byte) bool { return s.i < len(s.b) && s.b[s.i] == c }

// take consumes c if it is next.
func (s *Scanner) take(c byte) bool {
	if !s.at(c) {
		return false
	}
	s.i++
	return true
}

// space skips white space. Most texts have none.
func (s *Scanner) space() {
	if s.i < len(s.b) && s.b[s.i] <= ' ' {
		s.spaces()
	}
}

func (s *Scanner) spaces() {
	for s.i < len(s.b) && strings.IndexByte(" \t\r\n", s.b[s.i]) >= 0 {
		s.i++
	}
}

// Skip skips a value of any type.
func (s *Scanner) Skip() error {
	if s.i >= len(s.b) {
		return s.fail("the text ends early")
	}
	switch c := s.b[s.i]; {
	case c == '{':
		return s.Object(nil)
	case c == '[':
		return s.Array(func(int) error { return s.Skip() })
	case c == '"':
		_, err := s.Text()
		return err
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	if s.word("true") || s.word("false") || s.Null() {
		return nil
	}
	return s.fail("expected a value")
}

// Null skips a null and reports whether there was one.
func (s *Scanner) Null() bool { return s.word("null") }

func (s *Scanner) word(word string) bool {
	ok := len(s.b)-s.i >= len(word) && string(s.b[s.i:s.i+len(word)]) == word
	if ok {
		s.i += len(word)
	}
	return ok
}

// End fails unless only white space is left.
func (s *Scanner) End() error {
	if s.space(); s.i < len(s.b) {
		return s.fail("text after the object")
	}
	return nil
}

// Object parses an object. It calls each with the unescaped key and its offset; each must parse the
// value. If each is nil, Object skips the values.
func (s *Scanner) Object(each func(key []byte, at int) error) error {
	return s.list('{', '}', "object", func(int) error {
		at := s.i
		key, err := s.text("expected a key")
		if err != nil {
			return err
		}
		if s.space(); !s.take(':') {
			return s.fail("expected a colon")
		}
		if s.space(); each == nil {
			return s.Skip()
		}
		return each(key, at)
	})
}

// Array parses an array. It calls each with the index of each element; each must parse the element.
func (s *Scanner) Array(each func(i int) error) error { return s.list('[', ']', "array", each) }

// list parses elements between begin and end.
func (s *Scanner) list(begin, end byte, what string, each func(i int) error) error {
	if s.space(); !s.at(begin) {
		return s.fail("expected an " + what)
	}
	if s.depth == s.o.MaxDepth {
		return s.fail("nested deeper than " + strconv.Itoa(s.depth) + " levels")
	}
	s.depth++
	s.i++
	s.space()
	for i := 0; !s.take(end); i++ {
		if i > 0 && !s.take(',') {
			return s.fail("expected a comma or the end of the " + what)
		}
		s.space()
		if err := each(i); err != nil {
			return err
		}
		s.space()
	}
	s.depth--
	return nil
}

// Int parses an integer from 0 to 2^63-1 without sign, fraction and exponent.
func (s *Scanner) Int() (n int64, err error) {
	b := s.b
	i := s.i
	for ; i < len(b) && '0' <= b[i] && b[i] <= '9'; i++ {
		d := int64(b[i] - '0')
		if n > (math.MaxInt64-d)/10 {
			return 0, s.fail("an integer beyond 2^63-1")
		}
		n = 10*n + d
	}
	zero := i > s.i+1 && b[s.i] == '0'
	if i == s.i || zero || i < len(b) && (b[i] == '.' || b[i] == 'e' || b[i] == 'E') {
		return 0, s.fail("expected an integer that is not negative")
	}
	s.i = i
	return n, nil
}

// Text parses a string and returns its unescaped content, which aliases the text unless it has
// escapes.
func (s *Scanner) Text() ([]byte, error) { return s.text("expected a string") }

// text is Text with the reason if there is no string.
func (s *Scanner) text(missing string) (content []byte, err error) {
	if !s.take('"') {
		return nil, s.fail(missing)
	}
	from := s.i // of what is not yet in content
	for {
		// Fast path: long lists of plain names take most of the time.
		s.i = plainEnd(s.b, s.i)
		switch {
		case s.i == len(s.b):
			return nil, s.fail("the text ends within a string")
		case s.b[s.i] == '"':
			rest := s.b[from:s.i]
			if s.i++; content != nil {
				rest = append(content, rest...)
			}
			return rest, nil
		case s.b[s.i] == '\\':
			content = append(content, s.b[from:s.i]...)
			r, err := s.escape()
			if err != nil {
				return nil, err
			}
			content = utf8.AppendRune(content, r)
			from = s.i
		case s.b[s.i] < ' ':
			return nil, s.fail("control character in a string")
		default:
			r, n := utf8.DecodeRune(s.b[s.i:])
			if r == utf8.RuneError && n < 2 {
				return nil, s.fail("invalid UTF-8")
			}
			s.i += n
		}
	}
}

// plainEnd returns the index of the first byte of b[i:] that is not plain text of a string, or
// len(b). It tests eight bytes at a time.
func plainEnd(b []byte, i int) int {
	for ; len(b)-i >= 8; i += 8 {
		if m := notPlain(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] < utf8.RuneSelf && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// notPlain returns a word whose lowest set bit is the high bit of the first byte of x that is a
// quote, a backslash, a control character or not ASCII; it returns 0 if there is none. Higher bits
// may be wrong: only a byte that sets its own bit borrows from the next.
func notPlain(x uint64) uint64 {
	const each = 0x0101010101010101
	return (x | (x - ' '*each) | (x ^ '"'*each - each) | (x ^ '\\'*each - each)) & (0x80 * each)
}

const unpaired = "a surrogate without its other half"

// escape parses an escape sequence, or those of both halves of a surrogate pair.
func (s *Scanner) escape() (rune, error) {
	u, n := unit(s.b[s.i:])
	if n == 0 {
		return 0, s.fail("invalid escape sequence")
	}
	if utf16.IsSurrogate(u) {
		low, m := unit(s.b[s.i+n:])
		if r := utf16.DecodeRune(u, low); r != utf8.RuneError {
			u = r
			n = n + m
		} else if s.lone = s.i; !s.o.LoneSurrogates {
			return 0, s.fail(unpaired)
		}
	}
	s.i += n
	return u, nil
}

// unit decodes the escape sequence at the start of b. It returns a UTF-16 unit and the length of
// the sequence, or 0 if there is none.
func unit(b []byte) (u rune, n int) {
	if len(b) < 2 || b[0] != '\\' {
		return 0, 0
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i := bytes.IndexByte([]byte(from), b[1]); i >= 0 {
		return rune(to[i]), 2
	}
	if b[1] != 'u' || len(b) < 6 {
		return 0, 0
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(v), 6
}

// number parses a number.
func (s *Scanner) number() error {
	s.take('-')
	switch {
	case s.take('0'):
	case s.digits() == 0:
		return s.fail("expected a digit")
	}
	if s.take('.') && s.digits() == 0 {
		return s.fail("expected a digit after the point")
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		if s.digits() == 0 {
			return s.fail("expected a digit in the exponent")
		}
	}
	return nil
}

func (s *Scanner) digits() (n int) {
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
		n++
	}
	return n
}
