package pickle

import (
	"bytes"
	"fmt"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/weightmap/weightmap/tensor"
)

// The methods here read the lines of text of protocols 0 and 1, and strings.

// line reads up to the next newline, which must come within most bytes. The result is valid until
// more is read.
func (m *Machine) line(most int64) []byte {
	from := m.c.Offset()
	for m.ok() {
		if m.c.U8("pickle") == '\n' && m.ok() {
			return m.c.Window(from, m.c.Offset()-1)
		}
		if m.c.Offset()-from > most {
			m.failf(tensor.ErrCorrupt, "the name of a global, a key or a number has more than %d bytes", most)
		}
	}
	return nil
}

// key reads a key of the memo.
func (m *Machine) key() uint64 {
	line := m.line(mostGlobal)
	n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		m.failf(tensor.ErrCorrupt, "%.40q is no key of the memo", line)
	}
	return n
}

// intText reads an integer, or a boolean.
func (m *Machine) intText() {
	switch line := bytes.TrimSpace(m.line(mostNumber)); {
	case !m.ok():
	case string(line) == "00":
		m.push(False)
	case string(line) == "01":
		m.push(True)
	default:
		m.decimal(line)
	}
}

// mostNumber is the length of the longest number: Python reads no longer ones.
const mostNumber = 5000

// longText reads an integer, which ends in L.
func (m *Machine) longText() {
	line := bytes.TrimSpace(m.line(mostNumber))
	if m.ok() {
		m.decimal(bytes.TrimSuffix(line, []byte("L")))
	}
}

// decimal pushes a decimal integer.
func (m *Machine) decimal(b []byte) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err == nil {
		m.integer(n)
		return
	}
	wide, ok := new(big.Int).SetString(string(b), 10)
	if !ok {
		m.failf(tensor.ErrCorrupt, "%.40q is no integer", b)
		return
	}
	if wide.IsUint64() {
		m.unsigned(wide.Uint64())
		return
	}
	m.pushNew(value{kind: LongKind, n: uint32(wide.BitLen()/8 + 1)})
}

// floatText reads a float.
func (m *Machine) floatText() {
	line := bytes.TrimSpace(m.line(mostNumber))
	f, err := strconv.ParseFloat(string(line), 64)
	if m.ok() && err != nil {
		m.failf(tensor.ErrCorrupt, "%.40q is no float", line)
	}
	if m.ok() {
		m.float(f)
	}
}

// text pushes a string, the last bytes of the input.
func (m *Machine) text(b []byte) {
	if !validText(b) {
		m.failf(tensor.ErrCorrupt, "a string is no UTF-8")
	}
	if m.ok() {
		m.source(TextKind, 0, len(b))
	}
}

// validText reports whether b is UTF-8, in which Python also encodes lone surrogates.
func validText(b []byte) bool {
	for !utf8.Valid(b) {
		at := invalidAt(b)
		if len(b) < at+3 || b[at] != 0xed || b[at+1]&0xe0 != 0xa0 || b[at+2]&0xc0 != 0x80 {
			return false
		}
		b = b[at+3:]
	}
	return true
}

// invalidAt returns the index of the first byte that is no UTF-8.
func invalidAt(b []byte) int {
	at := 0
	for at < len(b) {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

// oldText pushes a string of Python 2, the last bytes of the input: text or bytes.
func (m *Machine) oldText(b []byte) {
	if !m.ok() {
		return
	}
	m.source(oldKind(b), rawFlag, len(b))
}

func oldKind(b []byte) Kind {
	if utf8.Valid(b) {
		return TextKind
	}
	return BytesKind
}

// quoted reads a string literal of Python 2.
func (m *Machine) quoted() {
	from := m.c.Offset()
	line := m.line(mostLine)
	scratch := int64(len(line))
	if !m.charge(scratch) {
		return
	}
	b, err := unquote(line)
	if err != nil {
		m.failf(tensor.ErrCorrupt, "%w", err)
		return
	}
	m.keep(oldKind(b), rawFlag, b, from)
	m.charged -= scratch
}

// unquote returns the string that a literal is.
func unquote(line []byte) ([]byte, error) {
	line = bytes.TrimRight(line, " \t\r")
	if n := len(line); n < 2 || line[0] != line[n-1] || line[0] != '\'' && line[0] != '"' {
		return nil, fmt.Errorf("%.40q is not quoted", line)
	}
	b, err := unescape(line[1 : len(line)-1])
	if err != nil {
		return nil, fmt.Errorf("%.40q: %w", line, err)
	}
	return b, nil
}

// mostLine is the length of the longest line with a string.
const mostLine = 1 << 28

// simple maps the escapes of one character.
var simple = map[byte]byte{'\\': '\\', '\'': '\'', '"': '"', 'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// unescape resolves the escapes of a byte string.
func unescape(b []byte) ([]byte, error) {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		at := bytes.IndexByte(b, '\\')
		if at < 0 || at+1 == len(b) {
			return append(out, b...), nil
		}
		out = append(out, b[:at]...)
		c := b[at+1]
		b = b[at+2:]
		plain, isSimple := simple[c]
		switch {
		case isSimple:
			out = append(out, plain)
		case c == 'x':
			n, err := strconv.ParseUint(string(b[:min(len(b), 2)]), 16, 8)
			if err != nil || len(b) < 2 {
				return nil, strconv.ErrSyntax
			}
			out = append(out, byte(n))
			b = b[2:]
		case '0' <= c && c <= '7':
			n := int(c - '0')
			for i := 0; i < 2 && len(b) > 0 && '0' <= b[0] && b[0] <= '7'; i++ {
				n = 8*n + int(b[0]-'0')
				b = b[1:]
			}
			out = append(out, byte(n))
		default:
			out = append(out, '\\', c)
		}
	}
	return out, nil
}

// unicode reads a line of text, whose characters are bytes or escapes.
func (m *Machine) unicode() {
	from := m.c.Offset()
	line := m.line(mostLine)
	scratch := 2 * int64(len(line)) // a character of one byte takes up to two in UTF-8
	if !m.charge(scratch) {
		return
	}
	b, err := unescapeUnicode(line)
	if err != nil {
		m.failf(tensor.ErrCorrupt, "%w", err)
		return
	}
	m.keep(TextKind, 0, b, from)
	m.charged -= scratch
}

// unescapeUnicode decodes characters that are bytes or escapes to UTF-8.
func unescapeUnicode(line []byte) ([]byte, error) {
	out := make([]byte, 0, 2*len(line))
	for len(line) > 0 {
		c := line[0]
		n := 0 // digits of an escape
		if c == '\\' && len(line) > 1 && line[1] == 'u' {
			n = 4
		}
		if c == '\\' && len(line) > 1 && line[1] == 'U' {
			n = 8
		}
		if n == 0 {
			out = utf8.AppendRune(out, rune(c))
			line = line[1:]
			continue
		}
		code, err := strconv.ParseUint(string(line[2:min(len(line), 2+n)]), 16, 32)
		if err != nil || len(line) < 2+n || code > utf8.MaxRune {
			return nil, fmt.Errorf("%.40q is no escape", line)
		}
		out = appendCode(out, uint32(code))
		line = line[2+n:]
	}
	return out, nil
}

// appendCode appends a code point, as Python does also if it is a lone surrogate.
func appendCode(b []byte, code uint32) []byte {
	if code&^0x7ff == 0xd800 {
		return append(b, 0xed, byte(0x80|code>>6&0x3f), byte(0x80|code&0x3f))
	}
	return utf8.AppendRune(b, rune(code))
}
