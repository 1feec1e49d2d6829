package safetensors

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

const (
	formatName  = "safetensors"
	extension   = ".safetensors"
	indexEnd    = ".index.json" // of an index, behind the name of the file that it stands for
	lengthSize  = 8             // of the field in front of the header
	maxHeader   = 100_000_000   // bytes, the reference's limit
	headerAlign = 8             // what the writer pads the header to
	minEntry    = 49            // `"":{"dtype":"","shape":[],"data_offsets":[0,0]},`
	maxRank     = 1 << 16
	maxDepth    = 127 // of the JSON text, the reference's limit
	metadataKey = "__metadata__"
)

// dtype is an element type of the reference.
type dtype struct {
	name  string
	dtype tensor.DType
	enc   *tensor.Encoding // of those that are no tensor.DType
}

func lowBits(name string) dtype { return dtype{name: name, enc: lowbit.Encoding(name)} }

// dtypes are in the order of the reference's enumeration: a file has the data of
// the last ones first.
var dtypes = [...]dtype{
	{"BOOL", tensor.Bool, nil},
	lowBits("F4"),
	lowBits("F6_E2M3"),
	lowBits("F6_E3M2"),
	{"U8", tensor.Uint8, nil},
	{"I8", tensor.Int8, nil},
	{"F8_E5M2", tensor.Float8E5M2, nil},
	{"F8_E4M3", tensor.Float8E4M3FN, nil},
	lowBits("F8_E8M0"),
	lowBits("F8_E4M3FNUZ"),
	lowBits("F8_E5M2FNUZ"),
	{"I16", tensor.Int16, nil},
	{"U16", tensor.Uint16, nil},
	{"F16", tensor.Float16, nil},
	{"BF16", tensor.BFloat16, nil},
	{"I32", tensor.Int32, nil},
	{"U32", tensor.Uint32, nil},
	{"F32", tensor.Float32, nil},
	{"C64", tensor.Complex64, nil},
	{"F64", tensor.Float64, nil},
	{"I64", tensor.Int64, nil},
	{"U64", tensor.Uint64, nil},
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
	return slices.IndexFunc(dtypes[:], func(d dtype) bool {
		if t.Encoding != nil {
			return d.enc != nil && lowbit.Same(d.name, t.Encoding.Name)
		}
		return d.enc == nil && d.dtype == t.DType
	})
}

// isListed reports whether a tensor has elements of a dtype that the reference does not have, out of a file.
func isListed(t *tensor.Info) bool {
	elems, err := t.Shape.Elems()
	return t.Encoding != nil && t.Encoding.Format == formatName && t.Encoding.Name != "" && named(t.Encoding.Name) < 0 &&
		err == nil && (elems == 0) == (t.Size == 0)
}

// isIndex tells the index of a sharded model, a JSON text, from a file with
// tensors, where the header's length leaves the upper bytes zero. head may be the
// first bytes only.
func isIndex(head []byte) bool {
	return (len(head) < lengthSize || binary.LittleEndian.Uint64(head)>>56 != 0) && beginsObject(head)
}

// beginsObject reports whether a text begins as a JSON object does.
func beginsObject(b []byte) bool {
	b = bytes.TrimLeft(b, blanks)
	if len(b) == 0 || b[0] != '{' {
		return false
	}
	b = bytes.TrimLeft(b[1:], blanks)
	return len(b) == 0 || b[0] == '"' || b[0] == '}'
}

const blanks = " \t\r\n"
