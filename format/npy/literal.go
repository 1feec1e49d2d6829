package npy

import (
	"bytes"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
)

// literal parses the text of a header: a Python dict with strings, True and False,
// and a tuple of integers. Nothing is evaluated.
type literal struct {
	r    *reader
	text []byte
	from int64 // offset of the text in the array
	at   int   // position in the text
	err  error
}

// fail records the first failure.
func (l *literal) fail(field string, sentinel error, text string, args ...any) {
	if l.err == nil {
		l.err = l.r.errorf(field, l.from+int64(l.at), sentinel, text, args...)
	}
}

// peek skips blanks and returns the next byte, 0 at the end.
func (l *literal) peek() byte {
	for ; l.at < len(l.text); l.at++ {
		if c := l.text[l.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\f' {
			return c
		}
	}
	return 0
}

// take consumes c and reports whether it came next.
func (l *literal) take(c byte) bool {
	if l.err != nil || l.peek() != c {
		return false
	}
	l.at++
	return true
}

// want consumes c, and fails if it does not come next.
func (l *literal) want(field string, c byte) {
	if !l.take(c) {
		l.fail(field, format.ErrCorrupt, "%q is missing in the literal %q", c, l.rest())
	}
}

// rest returns the beginning of the unread text, for errors.
func (l *literal) rest() []byte { return l.text[l.at:min(len(l.text), l.at+20)] }

// str reads a string without escapes.
func (l *literal) str(field string) []byte {
	quote := l.peek()
	if quote != '\'' && quote != '"' {
		l.fail(field, format.ErrCorrupt, "not a string: %q", l.rest())
		return nil
	}
	n := bytes.IndexAny(l.text[l.at+1:], "\\\n"+string(quote))
	if n < 0 || l.text[l.at+1+n] != quote {
		l.fail(field, format.ErrCorrupt, "a string without end, or with escapes: %q", l.rest())
		return nil
	}
	s := l.text[l.at+1:][:n]
	l.at += n + 2
	return s
}

// boolean reads True or False.
func (l *literal) boolean(field string) bool {
	l.peek()
	for _, word := range []string{"True", "False"} {
		if bytes.HasPrefix(l.text[l.at:], []byte(word)) {
			l.at += len(word)
			return word == "True"
		}
	}
	l.fail(field, format.ErrCorrupt, "neither True nor False: %q", l.rest())
	return false
}

// integer reads a decimal number.
func (l *literal) integer(field string) int64 {
	negative := l.take('-')
	if !negative {
		l.take('+')
	}
	c, from, n := l.peek(), l.at, uint64(0)
	for ; l.at < len(l.text) && '0' <= l.text[l.at] && l.text[l.at] <= '9'; l.at++ {
		digit := uint64(l.text[l.at] - '0')
		if n > (math.MaxInt64-digit)/10 {
			l.fail(field, format.ErrCorrupt, "a dim of 2^63 or more: %q", l.text[from:min(len(l.text), from+30)])
			return 0
		}
		n = 10*n + digit
	}
	switch {
	case l.at == from || c == '0' && n > 0:
		l.fail(field, format.ErrCorrupt, "not a decimal integer: %q", l.text[from:min(len(l.text), from+20)])
	case negative && n > 0:
		l.fail(field, format.ErrCorrupt, "the dim -%d is negative", n)
	}
	if l.r.major < 3 && l.at < len(l.text) && l.text[l.at] == 'L' { // of Python 2
		l.at++
	}
	return int64(n)
}

// tuple reads a tuple of integers into dims and returns their number. Parentheses
// hold a tuple only if they are empty or contain a comma.
func (l *literal) tuple(field string, dims *[maxRank]int64) (n int) {
	l.want(field, '(')
	for comma := false; l.err == nil && !l.take(')'); {
		if n > 0 && !comma {
			l.fail(field, format.ErrCorrupt, "not a tuple of integers: %q", l.rest())
			return 0
		}
		d := l.integer(field)
		if n == maxRank {
			l.fail(field, format.ErrLimit, "more than %d dims", maxRank)
			return 0
		}
		dims[n] = d
		n++
		if comma = l.take(','); !comma && n == 1 {
			l.fail(field, format.ErrCorrupt, "not a tuple of integers: a comma is missing: %q", l.rest())
		}
	}
	return n
}

// keys are the keys of the dict. The field of an error is one of them, or "header".
var keys = [...]string{"descr", "fortran_order", "shape"}

// dict reads the dict: three keys, each once, in any order.
func (l *literal) dict() {
	h, seen := &l.r.head, 0
	l.want("header", '{')
	for l.err == nil && !l.take('}') {
		at := l.at
		text := l.str("header")
		k := slices.Index(keys[:], string(text))
		switch {
		case l.err != nil:
		case k < 0:
			l.at = at
			l.fail("header", format.ErrCorrupt, "the key %q is none of descr, fortran_order and shape", text)
		case seen&(1<<k) != 0:
			l.fail("header", format.ErrCorrupt, "the key %q occurs twice", text)
		default:
			l.want(keys[k], ':')
		}
		if l.err != nil {
			return
		}
		seen |= 1 << k
		switch l.peek(); k {
		case 0:
			l.descr()
		case 1:
			h.fortran = l.boolean(keys[k])
		case 2:
			h.rank = l.tuple(keys[k], &h.dims)
		}
		if !l.take(',') && l.peek() != '}' {
			l.fail(keys[k], format.ErrCorrupt, "a comma or the end of the dict is missing in %q", l.rest())
		}
	}
	switch l.peek(); {
	case l.at < len(l.text):
		l.fail("header", format.ErrCorrupt, "%q follows the dict", l.rest())
	case seen != 1<<len(keys)-1:
		l.fail("header", format.ErrCorrupt, "descr, fortran_order or shape is missing")
	}
}

// descr reads the element type.
func (l *literal) descr() {
	h, at, lists := &l.r.head, l.at, l.r.entry != nil
	if c := l.peek(); c == '[' || c == '(' {
		if h.other = l.nested(); !lists {
			l.at, l.err = at, nil
			l.fail("descr", format.ErrUnsupported, "a structured type")
		}
		return
	}
	s := l.str("descr")
	h.elem, h.swap = elemOf(s)
	switch {
	case l.err != nil || h.elem != nil:
	case lists && isType(s):
		h.other = s
	default:
		l.at = at
		l.fail("descr", format.ErrUnsupported, "the type %q is none of bool, integers of up to 64 bits, floats and complex numbers", s)
	}
}

// isType reports whether s looks like a NumPy type name: a byte order, then a letter.
func isType(s []byte) bool {
	if len(s) > 1 && bytes.IndexByte([]byte("<>=|"), s[0]) >= 0 {
		s = s[1:]
	}
	return len(s) > 0 && ('a' <= s[0]|0x20 && s[0]|0x20 <= 'z')
}

// nested consumes nested lists and tuples of strings and numbers, and returns their text.
func (l *literal) nested() []byte {
	from, depth := l.at, 0
	for l.err == nil {
		switch c := l.peek(); {
		case c == '[' || c == '(':
			depth++
			l.at++
		case c == ']' || c == ')':
			l.at++
			if depth--; depth == 0 {
				return l.text[from:l.at]
			}
		case c == '\'' || c == '"':
			l.str("descr")
		case c == ',' || c == '-' || '0' <= c && c <= '9':
			l.at++
		default:
			l.fail("descr", format.ErrCorrupt, "not a list of fields: %q", l.rest())
		}
	}
	return nil
}
