package pickle

import (
	"bytes"
	"strings"
)

// Begins reports whether a file that begins with head may be a pickle.
func Begins(head []byte) bool {
	if len(head) < 4 {
		return len(head) >= 2 && head[0] == 0x80 && 2 <= head[1] && head[1] <= 5
	}
	if head[0] == 0x80 { // PROTO; the length at the beginning of a safetensors file may look like it
		return 2 <= head[1] && head[1] <= 5 && isOpcode(head[2]) && !(len(head) > 8 && head[8] == '{' && string(head[4:8]) == "\x00\x00\x00\x00")
	}
	inside := bytes.TrimLeft(head, "(") // MARK
	if len(inside) < 4 {
		return false
	}
	switch inside[0] {
	case 'd', 'l', 't': // DICT, LIST or TUPLE, and PUT
		return len(inside) < len(head) && inside[1] == 'p' && isDigit(inside[2])
	case '}', ']': // EMPTY_DICT or EMPTY_LIST, and BINPUT
		return inside[1] == 'q' && inside[2] <= 1
	case 'c': // GLOBAL
		module, rest, _ := bytes.Cut(inside[1:], []byte("\n"))
		name, rest, ok := bytes.Cut(rest, []byte("\n"))
		return ok && isDotted(module) && isDotted(name) && len(rest) > 0 && bytes.IndexByte([]byte("pq()R"), rest[0]) >= 0
	case 'V', 'S': // UNICODE or STRING, and PUT
		_, rest, ok := bytes.Cut(inside, []byte("\n"))
		return ok && len(rest) > 2 && rest[0] == 'p' && isDigit(rest[1])
	case 'X': // BINUNICODE, of less than 64 KiB
		return inside[3] == 0 && len(inside) > 4 && inside[4] == 0
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isDotted reports whether b is a name of letters, digits, underscores and dots.
func isDotted(b []byte) bool {
	for _, c := range b {
		if c != '.' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return len(b) > 0
}

// Packages returns the first elements of the modules that the pickle names.
func (m *Machine) Packages() []string {
	packages := make([]string, len(m.globals))
	for i, g := range m.globals {
		packages[i], _, _ = strings.Cut(g.Module, ".")
	}
	return packages
}
