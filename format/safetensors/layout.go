package safetensors

import (
	"encoding/binary"
	"slices"

	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

const (
	formatName  = "safetensors"
	lengthSize  = 8           // of the field in front of the header
	maxHeader   = 100_000_000 // bytes, the reference's limit
	headerAlign = 8           // what the writer pads the header to
	maxRank     = 1 << 16
	maxDepth    = 127 // of the JSON text, the reference's limit
	metadataKey = "__metadata__"
)

var extensions = []string{".safetensors"}

// dtype is an element type of the reference.
type dtype struct {
	name  string
	bits  int64        // of one element
	dtype tensor.DType // Invalid for those of enc
	enc   *tensor.Encoding
}

func init() {
	for i := range dtypes {
		if d := &dtypes[i]; d.dtype == tensor.Invalid {
			d.enc = lowbit.Encoding(d.name)
		}
	}
}

// dtypes are in the order of the reference's enumeration: a file has the data of
// the last ones first.
var dtypes = [...]dtype{
	{"BOOL", 8, tensor.Bool, nil},
	{"F4", 4, tensor.Invalid, nil},
	{"F6_E2M3", 6, tensor.Invalid, nil},
	{"F6_E3M2", 6, tensor.Invalid, nil},
	{"U8", 8, tensor.Uint8, nil},
	{"I8", 8, tensor.Int8, nil},
	{"F8_E5M2", 8, tensor.Float8E5M2, nil},
	{"F8_E4M3", 8, tensor.Float8E4M3FN, nil},
	{"F8_E8M0", 8, tensor.Invalid, nil},
	{"F8_E4M3FNUZ", 8, tensor.Invalid, nil},
	{"F8_E5M2FNUZ", 8, tensor.Invalid, nil},
	{"I16", 16, tensor.Int16, nil},
	{"U16", 16, tensor.Uint16, nil},
	{"F16", 16, tensor.Float16, nil},
	{"BF16", 16, tensor.BFloat16, nil},
	{"I32", 32, tensor.Int32, nil},
	{"U32", 32, tensor.Uint32, nil},
	{"F32", 32, tensor.Float32, nil},
	{"C64", 64, tensor.Complex64, nil},
	{"F64", 64, tensor.Float64, nil},
	{"I64", 64, tensor.Int64, nil},
	{"U64", 64, tensor.Uint64, nil},
}

// named returns the position of a name among dtypes, -1 for others.
func named[N string | []byte](name N) int {
	for i := range dtypes {
		if dtypes[i].name == string(name) {
			return i
		}
	}
	return -1
}

// rankOf returns the position of a tensor's type among dtypes, -1 for types that
// the format does not have.
func rankOf(t *tensor.Info) int {
	if t.Encoding != nil {
		return slices.IndexFunc(dtypes[:], func(d dtype) bool { return d.enc != nil && lowbit.Same(d.name, t.Encoding.Name) })
	}
	for i := range dtypes {
		if dtypes[i].dtype == t.DType && t.DType != tensor.Invalid {
			return i
		}
	}
	return -1
}

// whole returns a dtype whose elements are no smaller, for checks of products.
func (d *dtype) whole() tensor.DType {
	if d.dtype == tensor.Invalid {
		return tensor.Uint8
	}
	return d.dtype
}

// isIndex tells the index of a sharded model, a JSON text, from a file with
// tensors, where the header's length leaves the upper bytes zero. head may be the
// first bytes only.
func isIndex(head []byte) bool {
	if len(head) >= lengthSize && binary.LittleEndian.Uint64(head)>>56 == 0 {
		return false
	}
	return beginsObject(head)
}

// beginsObject reports whether a text begins as a JSON object does.
func beginsObject(b []byte) bool {
	b = skipBlanks(b)
	if len(b) == 0 || b[0] != '{' {
		return false
	}
	b = skipBlanks(b[1:])
	return len(b) == 0 || b[0] == '"' || b[0] == '}'
}

func skipBlanks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}
