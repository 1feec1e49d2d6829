package torch

import "bytes"

const formatName = "torch"

// legacyMagic is the integer 0x1950a86a20f9469cfc6c in a pickle, and legacyText in one of protocol
// 0 or 1. The legacy container begins with that pickle: the opcodes PROTO and, from protocol 4,
// FRAME come before it.
const (
	legacyMagic = "\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
	legacyText  = "L119547037146038801333356L\n."
)

// isLegacy reports whether head begins a legacy container.
func isLegacy(head []byte) bool {
	if bytes.HasPrefix(head, []byte(legacyText)) {
		return true
	}
	const protoLen, frameLen = 2, 9
	at := bytes.Index(head, []byte(legacyMagic))
	framed := at == protoLen+frameLen && head[protoLen] == 0x95
	return (at == protoLen || framed) && head[0] == 0x80
}
