package npy

import (
	"bytes"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
)

// The methods here parse the text of a header: a Python dict with strings, True and False,
// and a tuple of integers. Nothing is evaluated.

// fail records the first failure.
func (r *reader) fail(field string, sentinel error, text string, args ...any) {
	if r.err == nil {
		r.err = r.errorf(field, r.from+int64(r.at), sentinel, text, args...)
	}
}

// peek skips blanks and returns the next byte, 0 at the end.
func (r *reader) peek() byte {
	for ; r.at < len(r.text); r.at++ {
		if c := r.text[r.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\f' {
			return c
		}
	}
	return 0
}

// take consumes c and reports whether it came next.
func (r *reader) take(c byte) bool {
	if r.err != nil || r.peek() != c {
		return false
	}
	r.at++
	return true
}

// want consumes c, and fails if it does not come next.
func (r *reader) want(field string, c byte) {
	if !r.take(c) {
		r.fail(field, format.ErrCorrupt, "%q is missing in the literal %q", c, r.rest())
	}
}

// rest returns the beginning of the unread text, for errors.
func (r *reader) rest() []byte { return r.text[r.at:min(len(r.text), r.at+20)] }

// str reads a string without escapes.
func (r *reader) str(field string) []byte {
	if quote := r.peek(); quote == '\'' || quote == '"' {
		n := bytes.IndexAny(r.text[r.at+1:], "\\\n"+string(quote))
		if n >= 0 && r.text[r.at+1+n] == quote {
			s := r.text[r.at+1:][:n]
			r.at += n + 2
			return s
		}
	}
	r.fail(field, format.ErrCorrupt, "not a string, or one without end or with escapes: %q", r.rest())
	return nil
}

// boolean reads True or False.
func (r *reader) boolean(field string) bool {
	r.peek()
	for _, word := range []string{"True", "False"} {
		if bytes.HasPrefix(r.text[r.at:], []byte(word)) {
			r.at += len(word)
			return word == "True"
		}
	}
	r.fail(field, format.ErrCorrupt, "neither True nor False: %q", r.rest())
	return false
}

// integer reads a decimal number.
func (r *reader) integer(field string) int64 {
	negative := r.take('-')
	if !negative {
		r.take('+')
	}
	c := r.peek()
	from := r.at
	n := uint64(0)
	for ; r.at < len(r.text) && '0' <= r.text[r.at] && r.text[r.at] <= '9'; r.at++ {
		digit := uint64(r.text[r.at] - '0')
		if n > (math.MaxInt64-digit)/10 {
			r.fail(field, format.ErrCorrupt, "a dim of 2^63 or more: %q", r.text[from:min(len(r.text), from+30)])
			return 0
		}
		n = 10*n + digit
	}
	switch {
	case r.at == from || c == '0' && n > 0:
		r.fail(field, format.ErrCorrupt, "not a decimal integer: %q", r.text[from:min(len(r.text), from+20)])
	case negative && n > 0:
		r.fail(field, format.ErrCorrupt, "the dim -%d is negative", n)
	}
	if r.major < 3 && r.at < len(r.text) && r.text[r.at] == 'L' { // of Python 2
		r.at++
	}
	return int64(n)
}

// tuple reads a tuple of integers into dims and returns their number. Parentheses
// hold a tuple only if they are empty or contain a comma.
func (r *reader) tuple(field string, dims *[maxRank]int64) (n int) {
	r.want(field, '(')
	for r.err == nil && !r.take(')') {
		d := r.integer(field)
		if n == maxRank {
			r.fail(field, format.ErrLimit, "more than %d dims", maxRank)
			return 0
		}
		dims[n] = d
		n++
		if !r.take(',') && (n == 1 || r.peek() != ')') {
			r.fail(field, format.ErrCorrupt, "not a tuple of integers: a comma is missing: %q", r.rest())
		}
	}
	return n
}

// keys are the keys of the dict. The field of an error is one of them, or "header".
var keys = [...]string{"descr", "fortran_order", "shape"}

// dict reads the dict: three keys, each once, in any order.
func (r *reader) dict() {
	h := &r.head
	seen := 0
	r.want("header", '{')
	for r.err == nil && !r.take('}') {
		at := r.at
		text := r.str("header")
		k := slices.Index(keys[:], string(text))
		switch {
		case r.err != nil:
		case k < 0:
			r.at = at
			r.fail("header", format.ErrCorrupt, "the key %q is none of descr, fortran_order and shape", text)
		case seen&(1<<k) != 0:
			r.fail("header", format.ErrCorrupt, "the key %q occurs twice", text)
		default:
			r.want(keys[k], ':')
		}
		if r.err != nil {
			return
		}
		seen |= 1 << k
		switch r.peek(); k {
		case 0:
			r.descr()
		case 1:
			h.fortran = r.boolean(keys[k])
		case 2:
			h.rank = r.tuple(keys[k], &h.dims)
		}
		if !r.take(',') && r.peek() != '}' {
			r.fail(keys[k], format.ErrCorrupt, "a comma or the end of the dict is missing in %q", r.rest())
		}
	}
	switch r.peek(); {
	case r.at < len(r.text):
		r.fail("header", format.ErrCorrupt, "%q follows the dict", r.rest())
	case seen != 1<<len(keys)-1:
		r.fail("header", format.ErrCorrupt, "descr, fortran_order or shape is missing")
	}
}

// descr reads the element type.
func (r *reader) descr() {
	h := &r.head
	at := r.at
	lists := r.entry != nil
	if c := r.peek(); c == '[' || c == '(' {
		if h.other = r.nested(); !lists {
			r.at = at
			r.err = nil
			r.fail("descr", format.ErrUnsupported, "a structured type")
		}
		return
	}
	s := r.str("descr")
	h.elem, h.swap = elemOf(s)
	switch {
	case r.err != nil || h.elem != nil:
	case lists && isType(s), string(s) == objectType, isRaw(s):
		h.other = s
	default:
		r.at = at
		r.fail("descr", format.ErrUnsupported, "the type %q is none of bool, integers of up to 64 bits, floats and complex numbers", s)
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
func (r *reader) nested() []byte {
	for from, depth := r.at, 0; r.err == nil; {
		switch c := r.peek(); {
		case c == '\'' || c == '"':
			r.str("descr")
			continue
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			depth--
		case c != ',' && c != '-' && (c < '0' || c > '9'):
			r.fail("descr", format.ErrCorrupt, "not a list of fields: %q", r.rest())
			return nil
		}
		if r.at++; depth == 0 {
			return r.text[from:r.at]
		}
	}
	return nil
}
