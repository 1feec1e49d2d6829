package gguf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// TypeName returns the name in ggml_type of the elements of t, such as "F16" or "Q4_K"; the
// function ggml_type_name has most of them in lower case. The error is ErrUnsupported for elements
// that the format cannot store, and for those whose code has no name.
func TypeName(t tensor.Info) (string, error) {
	for _, e := range elementTypes {
		if e.isOf(&t) {
			return e.name, nil
		}
	}
	return "", fmt.Errorf("%w: %s has no name for %s elements", tensor.ErrUnsupported, formatName,
		t.TypeName())
}

// ParseType returns the type of elements that ggml calls name, as in tensor.Info: a DType, or an
// Encoding for types without one. Case does not matter, since ggml has both. The error is
// ErrUnsupported for names that ggml does not have.
func ParseType(name string) (tensor.DType, *tensor.Encoding, error) {
	for _, e := range elementTypes {
		if strings.EqualFold(e.name, name) {
			return e.dtype, e.encoding, nil
		}
	}
	return tensor.Invalid, nil, fmt.Errorf("%w: %s has no type %q", tensor.ErrUnsupported, formatName,
		name)
}

// FileType is the metadata value general.file_type: how most tensors of a model are quantized, as
// the program that made it says. The types of the tensors are in the file, and may be others.
type FileType uint32

// fileTypes are the names in llama_ftype.
var fileTypes = [...]string{
	0:  "F32",
	1:  "F16",
	2:  "Q4_0",
	3:  "Q4_1",
	4:  "Q4_1_SOME_F16",
	5:  "Q4_2",
	6:  "Q4_3",
	7:  "Q8_0",
	8:  "Q5_0",
	9:  "Q5_1",
	10: "Q2_K",
	11: "Q3_K_S",
	12: "Q3_K_M",
	13: "Q3_K_L",
	14: "Q4_K_S",
	15: "Q4_K_M",
	16: "Q5_K_S",
	17: "Q5_K_M",
	18: "Q6_K",
	19: "IQ2_XXS",
	20: "IQ2_XS",
	21: "Q2_K_S",
	22: "IQ3_XS",
	23: "IQ3_XXS",
	24: "IQ1_S",
	25: "IQ4_NL",
	26: "IQ3_S",
	27: "IQ3_M",
	28: "IQ2_S",
	29: "IQ2_M",
	30: "IQ4_XS",
	31: "IQ1_M",
	32: "BF16",
	33: "Q4_0_4_4",
	34: "Q4_0_4_8",
	35: "Q4_0_8_8",
	36: "TQ1_0",
	37: "TQ2_0",
	38: "MXFP4_MOE",
	39: "NVFP4",
	40: "Q1_0",
	41: "Q2_0",
}

// String returns the name without the prefix of the enumeration, "Q4_K_M", or "type 99" for a
// number without a name.
func (f FileType) String() string {
	if uint64(f) < uint64(len(fileTypes)) {
		return fileTypes[f]
	}
	return unknownPrefix + strconv.FormatUint(uint64(f), 10)
}

// ParseFileType returns the FileType with a name, as String returns it or in lower case. The error
// is ErrUnsupported if there is none.
func ParseFileType(name string) (FileType, error) {
	for i, n := range fileTypes {
		if strings.EqualFold(n, name) {
			return FileType(i), nil
		}
	}
	return 0, fmt.Errorf("%w: %s has no file type %q", tensor.ErrUnsupported, formatName, name)
}
