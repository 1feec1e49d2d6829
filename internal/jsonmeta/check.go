// Package jsonmeta checks and reads the JSON objects in which formats keep
// their metadata.
//
// Files come from anywhere, so the checks are stricter than encoding/json's:
// UTF-8 must be valid, nesting is bounded, and the keys of the object itself are
// unique and have no NUL, since they become the keys of a format.Metadata.
// Checking allocates next to nothing; values are only made by Metadata.
package jsonmeta

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/weightmap/weightmap/tensor"
)

// MaxDepth is how deep objects and arrays may nest, the outermost object
// counted as 1.
const MaxDepth = 1000

// Options says where formats differ.
type Options struct {
	// LoneSurrogates accepts escapes such as \ud800 that have no other half, but in the
	// outermost object's keys.
	LoneSurrogates bool
	// MaxDepth is another limit than the package's, if not 0.
	MaxDepth int
	// Entries, if not nil, is told how many keys Check found before it compares them,
	// which takes 8 bytes for each, and may refuse.
	Entries func(n int) error
	// Strings, if not nil, learns where the strings of an array are that Check passes.
	Strings *Strings
}

// EntryBytes is what Metadata makes of an entry, besides its text.
const EntryBytes = 64

// Error says what is wrong and where. It wraps tensor.ErrCorrupt.
type Error struct {
	Offset int64 // in bytes, from the start of the text
	Reason string
}

// Error describes the mistake and its place.
func (e *Error) Error() string {
	return tensor.ErrCorrupt.Error() + ": " + e.Reason + " at byte " + strconv.FormatInt(e.Offset, 10) + " of the JSON text"
}

// Unwrap returns tensor.ErrCorrupt.
func (e *Error) Unwrap() error { return tensor.ErrCorrupt }

// Check reports why b is not one JSON object as the package describes it.
func Check(b []byte, o Options) error { return new(Checker).Check(b, o) }

// Checker checks many texts and uses its memory again.
type Checker struct{ keys keys }

// Check is the package's Check.
func (c *Checker) Check(b []byte, o Options) error {
	if bytes.HasPrefix(b, []byte("\ufeff")) {
		return &Error{0, "a byte order mark"}
	}
	s := scanner{b: b, opts: o}
	if c.keys = c.keys[:0]; c.keys == nil {
		c.keys = make(keys, 0, 16)
	}
	s.space()
	if !s.at('{') {
		return s.fail("expected an object")
	}
	// Many keys are counted before there is memory for their hashes.
	const few = 16 << 10
	from, null, n := s.i, -1, 0
	err := s.object(1, func(key []byte, at int) error {
		if s.escaped {
			strict := scanner{b: b, i: at}
			if _, err := strict.text(); err != nil {
				return err
			}
			if key = unescape(key); null < 0 && bytes.IndexByte(key, 0) >= 0 {
				null = at
			}
		}
		if n++; n <= few {
			c.keys.add(key)
		}
		if o.Strings != nil && string(key) == o.Strings.Key {
			return o.Strings.walk(&s)
		}
		return s.value(1)
	})
	if err != nil {
		return err
	}
	s.space()
	switch {
	case s.i < len(b):
		return s.fail("text after the object")
	case null >= 0:
		return &Error{int64(null), "a key contains a NUL character"}
	case o.Entries != nil:
		if err := o.Entries(n); err != nil {
			return err
		}
	}
	if n > few {
		c.keys = slices.Grow(c.keys[:0], n)
		_ = entries(b, func(key, _ []byte) { c.keys.add(plain(key)) })
	}
	return c.keys.unlike(b, from)
}

// keys are the hashes of the keys of an object, which take less memory than the
// keys.
type keys []uint64

var seed = maphash.MakeSeed()

func (k *keys) add(key []byte) { *k = append(*k, maphash.Bytes(seed, key)) }

// unlike refuses keys that occur twice in the object at from of b, whose syntax has
// been checked. It sorts k.
func (k keys) unlike(b []byte, from int) error {
	slices.Sort(k)
	for i := 1; i < len(k); i++ {
		if k[i-1] != k[i] || i > 1 && k[i-2] == k[i] {
			continue
		}
		if at, ok := twice(b, from, k[i]); ok {
			return &Error{int64(at), "a key occurs twice"}
		}
	}
	return nil
}

// twice finds the second of two equal keys with that hash.
func twice(b []byte, from int, hash uint64) (at int, found bool) {
	s := scanner{b: b, i: from, opts: Options{LoneSurrogates: true}}
	var same [][]byte // with that hash; more than one are a wonder
	_ = s.object(1, func(raw []byte, pos int) error {
		key := plain(raw)
		if maphash.Bytes(seed, key) == hash {
			if slices.ContainsFunc(same, func(k []byte) bool { return bytes.Equal(k, key) }) {
				at, found = pos, true
				return io.EOF
			}
			same = append(same, key)
		}
		return s.value(1)
	})
	return at, found
}

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
