package npy

import (
	"bytes"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
)

// The methods here parse the text of a header: a Python dict with strings, True and False,
// and a tuple of integers. Nothing is evaluated.

// bad records the first error.
func (p *parser) bad(field string, sentinel error, text string, args ...any) {
	if p.err == nil {
		p.err = p.errorf(field, p.from+int64(p.at), sentinel, text, args...)
	}
}

// peek skips blanks and returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\f' {
			return c
		}
	}
	return 0
}

// take consumes c and reports whether it came next.
func (p *parser) take(c byte) bool {
	if p.err != nil || p.peek() != c {
		return false
	}
	p.at++
	return true
}

// want consumes c, and fails if it does not come next.
func (p *parser) want(field string, c byte) {
	if !p.take(c) {
		p.bad(field, format.ErrCorrupt, "%q is missing in the literal %q", c, p.rest())
	}
}

// rest returns the beginning of the unread text, for errors.
func (p *parser) rest() []byte { return p.text[p.at:min(len(p.text), p.at+20)] }

// str reads a string without escapes.
func (p *parser) str(field string) []byte {
	quote := p.peek()
	if quote == '\'' || quote == '"' {
		n := bytes.IndexAny(p.text[p.at+1:], "\\\n"+string(quote))
		if n >= 0 && p.text[p.at+1+n] == quote {
			s := p.text[p.at+1:][:n]
			p.at += n + 2
			return s
		}
	}
	p.bad(field, format.ErrCorrupt, "not a string, or one without end or with escapes: %q", p.rest())
	return nil
}

// boolean reads True or False.
func (p *parser) boolean(field string) bool {
	p.peek()
	for _, word := range []string{"True", "False"} {
		if bytes.HasPrefix(p.text[p.at:], []byte(word)) {
			p.at += len(word)
			return word == "True"
		}
	}
	p.bad(field, format.ErrCorrupt, "neither True nor False: %q", p.rest())
	return false
}

// integer reads a decimal number.
func (p *parser) integer(field string) int64 {
	negative := p.take('-')
	if !negative {
		p.take('+')
	}
	c := p.peek()
	from := p.at
	n := uint64(0)
	for ; p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9'; p.at++ {
		digit := uint64(p.text[p.at] - '0')
		if n > (math.MaxInt64-digit)/10 {
			p.bad(field, format.ErrCorrupt, "a dim of 2^63 or more: %q",
				p.text[from:min(len(p.text), from+30)])
			return 0
		}
		n = 10*n + digit
	}
	switch {
	case p.at == from || c == '0' && n > 0:
		p.bad(field, format.ErrCorrupt, "not a decimal integer: %q",
			p.text[from:min(len(p.text), from+20)])
	case negative && n > 0:
		p.bad(field, format.ErrCorrupt, "the dim -%d is negative", n)
	}
	if p.head.major < 3 && p.at < len(p.text) && p.text[p.at] == 'L' { // of Python 2
		p.at++
	}
	return int64(n)
}

// tuple reads a tuple of integers into dims and returns their number. Parentheses
// hold a tuple only if they are empty or contain a comma.
func (p *parser) tuple(field string, dims *[maxRank]int64) (n int) {
	p.want(field, '(')
	for p.err == nil && !p.take(')') {
		d := p.integer(field)
		if n == maxRank {
			p.bad(field, format.ErrLimit, "more than %d dims", maxRank)
			return 0
		}
		dims[n] = d
		n++
		if !p.take(',') && (n == 1 || p.peek() != ')') {
			p.bad(field, format.ErrCorrupt, "not a tuple of integers: a comma is missing: %q",
				p.rest())
		}
	}
	return n
}

// keys are the keys of the dict. The field of an error is one of them, or "header".
var keys = [...]string{"descr", "fortran_order", "shape"}

// dict reads the dict: three keys, each once, in any order.
func (p *parser) dict() {
	h := &p.head
	seen := 0
	p.want("header", '{')
	for p.err == nil && !p.take('}') {
		k := p.key(seen)
		if p.err != nil {
			return
		}
		seen |= 1 << k
		p.peek() // skip blanks
		switch k {
		case 0:
			p.descr()
		case 1:
			h.fortran = p.boolean(keys[k])
		case 2:
			h.rank = p.tuple(keys[k], &h.dims)
		}
		if !p.take(',') && p.peek() != '}' {
			p.bad(keys[k], format.ErrCorrupt, "a comma or the end of the dict is missing in %q", p.rest())
		}
	}
	p.peek() // skip blanks
	switch {
	case p.at < len(p.text):
		p.bad("header", format.ErrCorrupt, "%q follows the dict", p.rest())
	case seen != 1<<len(keys)-1:
		p.bad("header", format.ErrCorrupt, "descr, fortran_order or shape is missing")
	}
}

// key reads a key with its colon and returns its index in keys. seen has a bit for each key before.
func (p *parser) key(seen int) int {
	at := p.at
	text := p.str("header")
	if p.err != nil {
		return -1
	}
	k := slices.Index(keys[:], string(text))
	switch {
	case k < 0:
		p.at = at
		p.bad("header", format.ErrCorrupt, "the key %q is none of descr, fortran_order and shape", text)
	case seen&(1<<k) != 0:
		p.bad("header", format.ErrCorrupt, "the key %q occurs twice", text)
	default:
		p.want(keys[k], ':')
	}
	return k
}

// descr reads the element type.
func (p *parser) descr() {
	h := &p.head
	at := p.at
	lists := p.entry != nil
	c := p.peek()
	if c == '[' || c == '(' {
		h.other = p.nested()
		if !lists {
			p.at = at
			p.err = nil
			p.bad("descr", format.ErrUnsupported, "a structured type")
		}
		return
	}
	s := p.str("descr")
	h.elem, h.swap = elemOf(s)
	switch {
	case p.err != nil || h.elem != nil:
	case lists && isType(s), string(s) == objectType, isRaw(s):
		h.other = s
	default:
		p.at = at
		p.bad("descr", format.ErrUnsupported,
			"the type %q is none of bool, integers of up to 64 bits, floats and complex numbers", s)
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
func (p *parser) nested() []byte {
	from := p.at
	depth := 0
	for p.err == nil {
		c := p.peek()
		switch {
		case c == '\'' || c == '"':
			p.str("descr")
			continue
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			depth--
		case c != ',' && c != '-' && (c < '0' || c > '9'):
			p.bad("descr", format.ErrCorrupt, "not a list of fields: %q", p.rest())
			return nil
		}
		p.at++
		if depth == 0 {
			return p.text[from:p.at]
		}
	}
	return nil
}
