package onnx

import (
	"slices"
	"unicode/utf8"

	"github.com/weightmap/weightmap/internal/messages"
)

// maxIRVersion is a bound far above real versions.
const maxIRVersion = 1000

// evidence counts the signs of a ModelProto in the first fields of a file.
type evidence struct {
	version bool // there is ir_version
	other   bool // and another field
	sets    bool // of operators
	odd     bool // a version or text that a model may have, and hardly any does
}

func (e *evidence) suffices() bool { return e.version && (e.sets || e.other && !e.odd) }

// detect recognizes a ModelProto, which has no magic: head consists of its fields, each
// of the right wire type and plausible, in any order, with ir_version and one field more
// among them, or reaches a graph that begins with a field of a graph. Operator sets and a version
// are enough: the writer puts them first. A length beyond the end of the file means that the
// file is truncated.
func detect(head []byte, _ int64) bool {
	var e evidence
	for b := string(head); b != "" && !(e.version && e.sets); {
		num, typ, n := messages.ConsumeTag(b)
		if n <= 0 {
			return false
		}
		def := table.Known(typeModel, num)
		if def == nil || typ != def.Kind.Wire() {
			return def == nil && e.suffices() // a field of a newer schema
		}
		b = b[n:]
		v, n := messages.ConsumeVarint(b)
		if n <= 0 {
			return len(b) < 10 && e.suffices() // the head ends here
		}
		b = b[n:]
		if num == irVersion && e.version {
			return false
		}
		e.other = e.other || num != irVersion
		value := b[:min(uint64(len(b)), v)]
		good := true
		plain := true
		switch num {
		case irVersion:
			e.version = true
			plain = v >= 1 && v <= maxIRVersion
			value = ""
		case modelVersion:
			value = ""
		case modelGraph:
			return begins(value, 1, 2, 5, 10, 11, 12, 13, 14, 15, 16) && (e.version || value != "")
		case 2, 3, 4, 6:
			good, plain = plausible(value, v > uint64(len(b)))
		case operatorSets, properties:
			good = begins(value, 1, 2)
			e.sets = e.sets || num == operatorSets && value != ""
		}
		if !good || typ == messages.Bytes && v > 1<<40 {
			return false
		}
		e.odd = e.odd || !plain
		b = b[len(value):]
	}
	return e.suffices()
}

// plausible reports whether a string is UTF-8, and whether it has no control characters. A
// truncated string may end within a character.
func plausible(b string, cut bool) (text, plain bool) {
	for plain = true; b != ""; {
		r, n := utf8.DecodeRuneInString(b)
		if r == utf8.RuneError && n == 1 {
			return cut && len(b) < utf8.UTFMax && !utf8.FullRuneInString(b), plain
		}
		plain = plain && (r >= ' ' || r == '\n' || r == '\t' || r == '\r')
		b = b[n:]
	}
	return true, plain
}

// begins reports whether a message is empty or begins with one of its fields.
func begins(b string, nums ...int) bool {
	if b == "" {
		return true
	}
	num, typ, _ := messages.ConsumeTag(b)
	return slices.Contains(nums, num) && (typ == messages.Bytes || num == 2 && typ == messages.Varint)
}
