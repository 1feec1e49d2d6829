package onnx

import (
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
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
	for b := head; len(b) > 0 && !(e.version && e.sets); {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		def := modelMsg.Known(num)
		if def == nil || typ != def.Kind.WireType() {
			return def == nil && e.suffices() // a field of a newer schema
		}
		b = b[n:]
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
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
			value = nil
		case modelVersion:
			value = nil
		case 7:
			return begins(value, 1, 2, 5, 10, 11, 12, 13, 14, 15, 16) && (e.version || len(value) > 0)
		case 2, 3, 4, 6:
			good, plain = plausible(value, v > uint64(len(b)))
		case 8, 14:
			good = begins(value, 1, 2)
			e.sets = e.sets || num == 8 && len(value) > 0
		}
		if !good || def.Kind.WireType() == protowire.BytesType && v > 1<<40 {
			return false
		}
		e.odd = e.odd || !plain
		b = b[len(value):]
	}
	return e.suffices()
}

// plausible reports whether a string is UTF-8, and whether it has no control characters. A
// truncated string may end within a character.
func plausible(b []byte, cut bool) (text, plain bool) {
	for plain = true; len(b) > 0; {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			return cut && len(b) < utf8.UTFMax && !utf8.FullRune(b), plain
		}
		plain = plain && (r >= ' ' || r == '\n' || r == '\t' || r == '\r')
		b = b[n:]
	}
	return true, plain
}

// begins reports whether a message is empty or begins with one of its fields.
func begins(b []byte, nums ...protowire.Number) bool {
	if len(b) == 0 {
		return true
	}
	num, typ, _ := protowire.ConsumeTag(b)
	return slices.Contains(nums, num) && (typ == protowire.BytesType || num == 2 && typ == protowire.VarintType)
}
