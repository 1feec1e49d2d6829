package pickle

import (
	"strings"

	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

// Elem is an element type.
type Elem struct {
	DType tensor.DType
	Enc   *tensor.Encoding // of a type without a DType
	Size  int64
	Word  int // size of the words that byte swapping reverses
}

// dtypes maps the names of torch's dtype constants to types.
var dtypes = func() map[string]*Elem {
	m := map[string]*Elem{
		"complex32": listed("complex32", 4, 2), "complex128": listed("complex128", 16, 8),
		"float8_e4m3fnuz": coded("float8_e4m3fnuz"), "float8_e5m2fnuz": coded("float8_e5m2fnuz"), "float8_e8m0fnu": coded("float8_e8m0fnu"),
		"qint8": listed("qint8", 1, 1), "quint8": listed("quint8", 1, 1), "qint32": listed("qint32", 4, 4),
	}
	for d := tensor.Invalid + 1; d.Valid(); d++ {
		m[d.String()] = &Elem{DType: d, Size: d.Size(), Word: int(d.Size())}
	}
	m["complex64"].Word = 4
	for alias, name := range map[string]string{
		"double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32", "short": "int16",
		"cfloat": "complex64", "cdouble": "complex128", "chalf": "complex32",
	} {
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

// arrayTypes maps NumPy's codes, without the byte order, to types.
var arrayTypes = map[string]*Elem{
	"b1": dtypes["bool"], "i1": dtypes["int8"], "i2": dtypes["int16"], "i4": dtypes["int32"], "i8": dtypes["int64"],
	"u1": dtypes["uint8"], "u2": dtypes["uint16"], "u4": dtypes["uint32"], "u8": dtypes["uint64"],
	"f2": dtypes["float16"], "f4": dtypes["float32"], "f8": dtypes["float64"], "c8": dtypes["complex64"], "c16": dtypes["complex128"],
}

func coded(name string) *Elem { return &Elem{Enc: lowbit.Encoding(name), Size: 1, Word: 1} }

func listed(name string, size int64, word int) *Elem {
	return &Elem{Enc: &tensor.Encoding{Name: name, BlockElems: 1, BlockBytes: size}, Size: size, Word: word}
}

// bytes returns the size of a tensor of this type.
func (e *Elem) bytes(shape tensor.Shape) (int64, error) {
	if e.Enc != nil {
		return e.Enc.Bytes(shape)
	}
	return shape.ByteSize(e.DType)
}

// StorageElem returns the element type of a storage class, or nil for another global.
func StorageElem(module, name string) *Elem {
	name, ok := strings.CutSuffix(name, "Storage")
	switch {
	case !ok:
		return nil
	case module == "torch.storage" && name == "Typed":
		return dtypes["uint8"]
	case module == "torch", module == "torch.cuda", module == "torch.storage" && name == "Untyped":
		return dtypes[storageNames[name]]
	}
	return nil
}
