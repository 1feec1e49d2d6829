package jsonmeta

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// scanner walks a JSON text (RFC 8259).
type scanner struct {
	b       []byte
	i       int
	opts    Options
	escaped bool // the last string that text walked has escapes
}

func (s *scanner) fail(reason string) error { return &Error{int64(s.i), reason} }

// at reports whether the next byte is c.
func (s *scanner) at(c byte) bool { return s.i < len(s.b) && s.b[s.i] == c }

// take consumes c if it is next.
func (s *scanner) take(c byte) bool {
	if !s.at(c) {
		return false
	}
	s.i++
	return true
}

// space walks white space, of which most texts have none.
func (s *scanner) space() {
	if s.i < len(s.b) && s.b[s.i] <= ' ' {
		s.spaces()
	}
}

func (s *scanner) spaces() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// value walks any value; depth counts what it lies in.
func (s *scanner) value(depth int) error {
	if s.i >= len(s.b) {
		return s.fail("the text ends early")
	}
	switch c := s.b[s.i]; {
	case c == '{':
		return s.object(depth+1, nil)
	case c == '[':
		return s.array(depth+1, nil)
	case c == '"':
		_, err := s.text()
		return err
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if len(s.b)-s.i >= len(word) && string(s.b[s.i:s.i+len(word)]) == word {
			s.i += len(word)
			return nil
		}
	}
	return s.fail("expected a value")
}

// enter begins an object or an array.
func (s *scanner) enter(depth int) error {
	most := MaxDepth
	if s.opts.MaxDepth > 0 {
		most = s.opts.MaxDepth
	}
	if depth > most {
		return s.fail("nested deeper than " + strconv.Itoa(most) + " levels")
	}
	s.i++
	return nil
}

// object walks an object. each, if not nil, gets the keys and walks the values.
func (s *scanner) object(depth int, each func(raw []byte, at int) error) error {
	if err := s.enter(depth); err != nil {
		return err
	}
	if s.space(); s.take('}') {
		return nil
	}
	for {
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
			err = each(raw, at)
		} else {
			err = s.value(depth)
		}
		if err != nil {
			return err
		}
		switch s.space(); {
		case s.take(','):
		case s.take('}'):
			return nil
		default:
			return s.fail("expected a comma or the end of the object")
		}
	}
}

// array walks an array. each, if not nil, walks the elements.
func (s *scanner) array(depth int, each func(i int) error) error {
	if err := s.enter(depth); err != nil {
		return err
	}
	if s.space(); s.take(']') {
		return nil
	}
	for i := 0; ; i++ {
		s.space()
		var err error
		if each != nil {
			err = each(i)
		} else {
			err = s.value(depth)
		}
		if err != nil {
			return err
		}
		switch s.space(); {
		case s.take(','):
		case s.take(']'):
			return nil
		default:
			return s.fail("expected a comma or the end of the array")
		}
	}
}

// text walks a string and returns what is between its quotes.
func (s *scanner) text() (raw []byte, err error) {
	start := s.i + 1
	s.escaped = false
	for i := start; ; {
		// Most text is plain, and long lists of names are what takes time.
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

// special walks some of a string that is not plain, and fails at its missing end.
func (s *scanner) special() error {
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

// plainEnd returns the first place from i on where b is not plain text of a
// string, or the length of b. It goes eight bytes a step.
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

// notPlain sets the high bit of the first of eight bytes of a string that is not
// ASCII, or a control character, a quote or a backslash, and perhaps bits above it; it is 0
// when there is none. Only a byte that sets its own bit takes one from the next.
func notPlain(x uint64) uint64 {
	const each = 0x0101010101010101
	return (x | (x - ' '*each) | (x ^ '"'*each - each) | (x ^ '\\'*each - each)) & (0x80 * each)
}

// escape walks an escape sequence, both halves of a surrogate pair included.
func (s *scanner) escape() error {
	u, n := unit(s.b[s.i:])
	switch {
	case n == 0:
		return s.fail("invalid escape sequence")
	case u>>11 != 0xd800>>11 || s.opts.LoneSurrogates:
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

// unit decodes the escape sequence that b begins with: a UTF-16 unit and the
// length, 0 when it is none.
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

// unescape returns the text that a checked string stands for; a lone surrogate
// becomes the replacement character.
func unescape(raw []byte) []byte {
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

// number walks a number.
func (s *scanner) number() error {
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

func (s *scanner) digits() (n int) {
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
		n++
	}
	return n
}
