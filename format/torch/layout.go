package torch

import (
	"bytes"

	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

const (
	formatName = "torch"
	maxRank    = 64
	// The largest nesting depth, and the longest name in bytes.
	maxDepth = 200
	maxName  = 1 << 16
)

// legacyMagic is the integer 0x1950a86a20f9469cfc6c in a pickle. The legacy container begins with
// that pickle: the opcodes PROTO and, from protocol 4, FRAME come before it.
const (
	legacyMagic = "\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
	legacyHead  = 2 + 9 + len(legacyMagic)
)

// isLegacy reports whether head begins a legacy container.
func isLegacy(head []byte) bool {
	at := bytes.Index(head, []byte(legacyMagic))
	framed := at == legacyHead-len(legacyMagic) && head[2] == 0x95
	return (at == 2 || framed) && head[0] == 0x80
}

// elem is an element type.
type elem struct {
	dtype tensor.DType
	enc   *tensor.Encoding // of a type without a DType
	size  int64
	word  int // size of the words that byte swapping reverses
}

// elems maps the names of torch's dtype constants to types.
var elems = func() map[string]*elem {
	m := map[string]*elem{
		"complex32": listed("complex32", 4, 2), "complex128": listed("complex128", 16, 8),
		"float8_e4m3fnuz": coded("float8_e4m3fnuz"), "float8_e5m2fnuz": coded("float8_e5m2fnuz"), "float8_e8m0fnu": coded("float8_e8m0fnu"),
		"qint8": listed("qint8", 1, 1), "quint8": listed("quint8", 1, 1), "qint32": listed("qint32", 4, 4),
	}
	for d := tensor.Invalid + 1; d.Valid(); d++ {
		m[d.String()] = &elem{dtype: d, size: d.Size(), word: int(d.Size())}
	}
	m["complex64"].word = 4
	for alias, name := range map[string]string{"double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32", "short": "int16", "cfloat": "complex64", "cdouble": "complex128"} {
		m[alias] = m[name]
	}
	return m
}()

// storageNames maps the names of storage classes, without "Storage", to types.
var storageNames = map[string]string{
	"Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32", "Short": "int16",
	"Char": "int8", "Byte": "uint8", "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128", "QInt8": "qint8",
	"QUInt8": "quint8", "QInt32": "qint32", "Untyped": "uint8",
}

func coded(name string) *elem { return &elem{enc: lowbit.Encoding(name), size: 1, word: 1} }

func listed(name string, size int64, word int) *elem {
	return &elem{enc: &tensor.Encoding{Name: name, BlockElems: 1, BlockBytes: size}, size: size, word: word}
}
