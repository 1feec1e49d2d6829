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
	indexEnd    = ".index.json" // of an index; the rest is the name of the single file
	lengthSize  = 8             // size of the header length
	minEntry    = 49            // `"":{"dtype":"","shape":[],"data_offsets":[0,0]},`
	maxHeader   = 100_000_000   // in bytes, the reference's limit
	headerAlign = 8             // the writer pads the header to this
	maxRank     = 1 << 16
	maxDepth    = 127 // of nesting, the reference's limit
	metadataKey = "__metadata__"
)

// dtype is an element type of the reference implementation.
type dtype struct {
	name  string
	dtype tensor.DType
	enc   *tensor.Encoding // if there is no tensor.DType
}

func lowBits(name string) dtype { return dtype{name: name, enc: lowbit.Encoding(name)} }

// dtypes is in the order of the reference's enumeration. A file stores the data of the last ones
// first.
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

// named returns the index of a name in dtypes, or -1.
func named[N string | []byte](name N) int {
	for i := range dtypes {
		if dtypes[i].name == string(name) {
			return i
		}
	}
	return -1
}

// typeOf returns the index of a tensor's type in dtypes, or -1.
func typeOf(t *tensor.Info) int {
	return slices.IndexFunc(dtypes[:], func(d dtype) bool {
		if t.Encoding != nil {
			return d.enc != nil && lowbit.Type(d.name) == lowbit.Type(t.Encoding.Name)
		}
		return d.enc == nil && d.dtype == t.DType
	})
}

// rankOf is typeOf for a tensor of whole bytes.
func rankOf(t *tensor.Info) int {
	i := typeOf(t)
	if i < 0 || dtypes[i].enc == nil {
		return i
	}
	elems, _ := t.Shape.Elems()
	if elems%dtypes[i].enc.BlockElems != 0 {
		return -1
	}
	return i
}

// isListed reports whether a tensor was read from a file and its dtype is not in the reference.
func isListed(t *tensor.Info) bool {
	e := t.Encoding
	if e == nil || e.Format != formatName || e.Name == "" || named(e.Name) >= 0 {
		return false
	}
	elems, err := t.Shape.Elems()
	if err != nil {
		return false
	}
	return (elems == 0) == (t.Size == 0)
}

// isIndex distinguishes the index of a sharded model, which is JSON, from a file with tensors,
// whose upper bytes of the header length are zero. head need not be the whole file.
func isIndex(head []byte) bool {
	return (len(head) < lengthSize || binary.LittleEndian.Uint64(head)>>56 != 0) && beginsObject(head)
}

// beginsObject reports whether b begins a JSON object.
func beginsObject(b []byte) bool {
	b = bytes.TrimLeft(b, blanks)
	if len(b) == 0 || b[0] != '{' {
		return false
	}
	b = bytes.TrimLeft(b[1:], blanks)
	return len(b) == 0 || b[0] == '"' || b[0] == '}'
}

const blanks = " \t\r\n"
