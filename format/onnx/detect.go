package onnx

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxIRVersion is far beyond what there will be.
const maxIRVersion = 1000

// detect recognizes a ModelProto, which has no magic: head consists of its fields, each
// of the right wire type and plausible, in any order, with ir_version and one field more
// among them, or reaches a graph that begins with a field of a graph. A length beyond the
// end of the file is that of a file that was cut short.
func detect(head []byte, _ int64) bool {
	version, fields := false, 0
	for b := head; len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		def := modelMsg.Known(num)
		if def == nil {
			return version && fields > 0 // a field of a newer schema
		}
		if typ != def.Kind.WireType() {
			return false
		}
		b = b[n:]
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			// The head ends here.
			return len(head)-len(b) > 0 && len(b) < 10 && version && fields > 0
		}
		b = b[n:]
		if num == 1 {
			if version || v < 1 || v > maxIRVersion {
				return false
			}
			version = true
			continue
		}
		fields++
		if typ == protowire.VarintType {
			continue
		}
		value := b[:min(uint64(len(b)), v)]
		switch {
		case num <= 6 && !plausible(value, v > uint64(len(b))):
			return false
		case num == 7:
			return begins(value, 1, 2, 5, 10, 11, 12, 13, 14, 15, 16) && (version || len(value) > 0)
		case num == 8 && !begins(value, 1, 2), num == 14 && !begins(value, 1, 2):
			return false
		case v > 1<<40:
			return false
		}
		b = b[len(value):]
	}
	return version && fields > 0
}

// plausible reports whether a string is UTF-8 without control characters. One that is
// cut may end within a character.
func plausible(b []byte, cut bool) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			return cut && len(b) < utf8.UTFMax && !utf8.FullRune(b)
		}
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
		b = b[n:]
	}
	return true
}

// begins reports whether a message is empty or begins with one of its fields.
func begins(b []byte, nums ...protowire.Number) bool {
	if len(b) == 0 {
		return true
	}
	num, typ, _ := protowire.ConsumeTag(b)
	for _, want := range nums {
		if num == want {
			return typ == protowire.BytesType || num == 2 && typ == protowire.VarintType
		}
	}
	return false
}
