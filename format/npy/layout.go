package npy

import (
	"slices"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

const (
	formatName  = "npy" // names and endings of the two formats
	archiveName = "npz"
	extension   = ".npy"

	magic     = "\x93NUMPY"
	prefixLen = 10 // magic, version, and a header length of 16 bits
	alignment = 64 // of the data that we write
	maxRank   = 64 // of NumPy 2
	maxHeader = 1 << 20
)

// elem is an element type. Arrays of words of several bytes may be big-endian.
type elem struct {
	code  string // as in descr, behind the byte order
	dtype tensor.DType
	enc   *tensor.Encoding // when there is no dtype
	size  int64
	word  int // what is swapped: half of a complex number
}

// complex128 has no dtype here: its tensors are listed with their raw bytes.
var complex128 = tensor.Encoding{Name: "complex128", BlockElems: 1, BlockBytes: 16}

var elems = [...]elem{
	{"b1", tensor.Bool, nil, 1, 1},
	{"i1", tensor.Int8, nil, 1, 1},
	{"i2", tensor.Int16, nil, 2, 2},
	{"i4", tensor.Int32, nil, 4, 4},
	{"i8", tensor.Int64, nil, 8, 8},
	{"u1", tensor.Uint8, nil, 1, 1},
	{"u2", tensor.Uint16, nil, 2, 2},
	{"u4", tensor.Uint32, nil, 4, 4},
	{"u8", tensor.Uint64, nil, 8, 8},
	{"f2", tensor.Float16, nil, 2, 2},
	{"f4", tensor.Float32, nil, 4, 4},
	{"f8", tensor.Float64, nil, 8, 8},
	{"c8", tensor.Complex64, nil, 8, 4},
	{"c16", tensor.Invalid, &complex128, 16, 8},
}

// name returns NumPy's long name of the type.
func (e *elem) name() string {
	if e.enc != nil {
		return e.enc.Name
	}
	return e.dtype.String()
}

// elemOf returns the type that a descr names, or nil if it is not supported, and whether its
// words are big-endian. Without a byte order, and with that of the machine that
// wrote the file, they are little-endian.
func elemOf(descr []byte) (e *elem, big bool) {
	code := descr
	if len(code) > 0 && strings.IndexByte("<>=|", code[0]) >= 0 {
		code = code[1:]
	}
	for i := range elems {
		e := &elems[i]
		if string(code) == e.code || string(descr) == e.name() {
			return e, descr[0] == '>' && e.word > 1
		}
	}
	return nil, false
}

// elemFor returns the type of a tensor to write, or nil if a file cannot hold it.
func elemFor(t *tensor.Info) *elem {
	if t.Encoding != nil && t.Encoding.Format == archiveName && t.Encoding.Name != "" {
		return &listed
	}
	for i := range elems {
		e := &elems[i]
		if t.TypeName() == e.name() && e.sameBlocks(t.Encoding) {
			return e
		}
	}
	return nil
}

// sameBlocks reports whether the blocks of an encoding are elements of the type's size; nil is the
// encoding of a type with a DType.
func (e *elem) sameBlocks(enc *tensor.Encoding) bool {
	if enc == nil || e.enc == nil {
		return enc == e.enc
	}
	return enc.BlockElems == 1 && enc.BlockBytes == e.size
}

// listed stands for all types whose elements only NumPy reads: strings, objects, dates,
// records. Tensors of such an array in an archive have its bytes as they are.
var listed elem

// inFortran ends the name of a listed type in an array whose first dim varies fastest.
const inFortran = ", fortran_order"

// mostDescr is the maximum length of the name of a listed type.
const mostDescr = 1 << 10

// encoding describes elements without a DType; consecutive tensors share a description.
func (f *parsed) encoding(h *head) *tensor.Encoding {
	if h.other == nil {
		return h.elem.enc
	}
	name := h.other[:min(len(h.other), mostDescr)]
	// NumPy has other names only in other versions of the header.
	written := len(h.other) <= mostDescr && isPrintable(h.other)
	suffix := ""
	if h.fortran {
		suffix = inFortran
	}
	if f.last == nil || f.last.Name != string(name)+suffix {
		f.last = &tensor.Encoding{Name: strings.ToValidUTF8(string(name), "\uFFFD") + suffix}
		if written {
			f.last.Format = archiveName
		}
	}
	return f.last
}

// isPrintable reports whether a text has only printable ASCII.
func isPrintable(text []byte) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return c < ' ' || c > '~' })
}
