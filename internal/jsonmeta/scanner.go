package jsonmeta

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// Scanner parses a JSON text (RFC 8259) sequentially, for formats whose structure is JSON. It
// validates what it passes as Check does, except that only Unique detects duplicate keys. It
// allocates only for errors and for strings with escapes.
type Scanner struct {
	b       []byte
	i       int
	depth   int
	escaped bool // the last string has escapes
	o       Options
}

// NewScanner returns a Scanner at the start of b. b must not change while it is in use.
func NewScanner(b []byte, o Options) Scanner { return Scanner{b: b, o: o} }

// Offset returns the current offset. When a callback is called, it is the start of a value.
func (s *Scanner) Offset() int { return s.i }

// Escaped reports whether the last string has escapes.
func (s *Scanner) Escaped() bool { return s.escaped }

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
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
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
		return s.Array(nil)
	case c == '"':
		_, err := s.text()
		return err
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if s.word(word) {
			return nil
		}
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

// Unique parses an object and fails on duplicate keys. It needs 20 bytes of memory per key. each
// must parse the value.
func (s *Scanner) Unique(each func() error) error {
	var c Checker
	err := c.object(s, func([]byte, int) error { return each() })
	if err == nil {
		err = c.unique()
	}
	return err
}

// enter parses the start of an object or an array.
func (s *Scanner) enter(begin byte, what string) error {
	if s.space(); !s.at(begin) {
		return s.fail("expected an " + what)
	}
	most := MaxDepth
	if s.o.MaxDepth > 0 {
		most = s.o.MaxDepth
	}
	if s.depth == most {
		return s.fail("nested deeper than " + strconv.Itoa(most) + " levels")
	}
	s.depth++
	s.i++
	return nil
}

// more advances to the next element of an object or array and reports whether there is one.
func (s *Scanner) more(end byte, what string) (bool, error) {
	switch s.space(); {
	case s.take(','):
		return true, nil
	case s.take(end):
		s.depth--
		return false, nil
	}
	return false, s.fail("expected a comma or the end of the " + what)
}

// Object parses an object. It calls each with the unescaped key and its offset; each must parse the
// value. If each is nil, Object skips the values.
func (s *Scanner) Object(each func(key []byte, at int) error) error {
	if err := s.enter('{', "object"); err != nil {
		return err
	}
	if s.space(); s.take('}') {
		s.depth--
		return nil
	}
	for more := true; more; {
		s.space()
		if !s.at('"') {
			return s.fail("expected a key")
		}
		at := s.i
		raw, err := s.text()
		if err != nil {
			return err
		}
		if s.space(); !s.take(':') {
			return s.fail("expected a colon")
		}
		s.space()
		if each != nil {
			err = each(s.plain(raw), at)
		} else {
			err = s.Skip()
		}
		if err == nil {
			more, err = s.more('}', "object")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Array parses an array. It calls each with the index of each element; each must parse the element.
// If each is nil, Array skips the elements.
func (s *Scanner) Array(each func(i int) error) error {
	if err := s.enter('[', "array"); err != nil {
		return err
	}
	if s.space(); s.take(']') {
		s.depth--
		return nil
	}
	more := true
	for i := 0; more; i++ {
		s.space()
		var err error
		if each != nil {
			err = each(i)
		} else {
			err = s.Skip()
		}
		if err == nil {
			more, err = s.more(']', "array")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Int parses an integer from 0 to 2^63-1 without sign, fraction and exponent.
func (s *Scanner) Int() (n int64, err error) {
	b, i := s.b, s.i
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
func (s *Scanner) Text() ([]byte, error) {
	if !s.at('"') {
		return nil, s.fail("expected a string")
	}
	raw, err := s.text()
	return s.plain(raw), err
}

// plain returns the unescaped content of the string that text has just parsed.
func (s *Scanner) plain(raw []byte) []byte {
	if !s.escaped {
		return raw
	}
	return unescape(raw)
}

// text parses a string and returns the bytes between its quotes.
func (s *Scanner) text() (raw []byte, err error) {
	start := s.i + 1
	s.escaped = false
	for i := start; ; {
		// Fast path: long lists of plain names take most of the time.
		if i = plainEnd(s.b, i); i < len(s.b) && s.b[i] == '"' {
			s.i = i + 1
			return s.b[start:i], nil
		}
		s.i = i
		if err := s.special(); err != nil {
			return nil, err
		}
		i = s.i
	}
}

// special parses an escape or a non-ASCII character, and fails if the string does not end.
func (s *Scanner) special() error {
	switch {
	case s.i >= len(s.b):
		return s.fail("the text ends within a string")
	case s.b[s.i] == '\\':
		s.escaped = true
		return s.escape()
	case s.b[s.i] < ' ':
		return s.fail("control character in a string")
	}
	for s.i < len(s.b) && s.b[s.i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(s.b[s.i:])
		if r == utf8.RuneError && n < 2 {
			return s.fail("invalid UTF-8")
		}
		s.i += n
	}
	return nil
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

// escape parses an escape sequence, including both halves of a surrogate pair.
func (s *Scanner) escape() error {
	u, n := unit(s.b[s.i:])
	switch {
	case n == 0:
		return s.fail("invalid escape sequence")
	case u>>11 != 0xd800>>11 || s.o.LoneSurrogates:
		s.i += n
		return nil
	}
	low, m := unit(s.b[s.i+n:])
	if u>>10 != 0xd800>>10 || low>>10 != 0xdc00>>10 {
		return s.fail("a surrogate without its other half")
	}
	s.i += n + m
	return nil
}

// unit decodes the escape sequence at the start of b. It returns a UTF-16 unit and the length of
// the sequence, or 0 if there is none.
func unit(b []byte) (u uint32, n int) {
	if len(b) < 2 || b[0] != '\\' {
		return 0, 0
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i := bytes.IndexByte([]byte(from), b[1]); i >= 0 {
		return uint32(to[i]), 2
	}
	if b[1] != 'u' || len(b) < 6 {
		return 0, 0
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return 0, 0
	}
	return uint32(v), 6
}

// unescape returns the content of a validated string. A lone surrogate becomes the replacement
// character.
func unescape(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			i++
			continue
		}
		u, n := unit(raw[i:])
		r := rune(u)
		if u>>10 == 0xd800>>10 {
			if low, m := unit(raw[i+n:]); m == 6 && low>>10 == 0xdc00>>10 {
				r = rune(u&0x3ff<<10|low&0x3ff) + 0x10000
				n += m
			}
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return out
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
