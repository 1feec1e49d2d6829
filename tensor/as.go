package tensor

import (
	"fmt"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
)

// As returns the tensor as a slice of T over the model's own memory, without
// copying and without allocating. It is valid until the model is closed and
// must not be written to. When View.ZeroCopy is false because the data is
// compressed, remote or misaligned, the slice is over the copy Bytes returns; for a view of
// FromReaderAt the error is ErrUnsupported.
//
// T must be the Go type of the dtype: F16 (or the bits as uint16) for float16, BF16 (or uint16)
// for bfloat16, uint8 for bool and the float8 types, and the type of the same name for the others.
// A type defined by one of these works too: see Elem.
//
// Errors: ErrDType, ErrMisaligned, ErrByteOrder (multi-byte elements on a big-endian host: use
// Decode), ErrClosed.
func As[T Elem](v View) ([]T, error) {
	var zero T
	switch info := v.ref().Info(); {
	case info == nil:
		return nil, ErrClosed
	case !viewable[T](info.DType):
		return nil, v.refusal(fmt.Errorf("%w: %s, not %T", ErrDType, info.TypeName(), zero))
	case !memory.LittleEndian && info.DType.Size() > 1:
		return nil, v.refusal(ErrByteOrder)
	}
	if isBehindReader(v.ref().Owner()) {
		return nil, v.refusal(fmt.Errorf("%w: the tensor is behind an io.ReaderAt, with no memory to view: use Decode", ErrUnsupported))
	}
	b, err := v.Bytes()
	if err != nil {
		return nil, err
	}
	s, ok := memory.Cast[T](b)
	if !ok {
		return nil, v.explain(ErrMisaligned)
	}
	return s, nil
}

// Of returns a view of data, whose elements are row-major in shape. It does not copy the
// slice, except on a big-endian host; the slice must not change while the view is in use.
//
// T determines the dtype. A type defined by uint8 or uint16 needs a method DType() DType, as
// F16 and BF16 have, since several dtypes have such elements.
// Errors: ErrShape when the sizes differ, ErrDType.
func Of[T Elem](name string, shape Shape, data []T) (View, error) {
	d, err := dtypeOf[T]()
	if err != nil {
		return refuse(&Info{Name: name}, err)
	}
	b := memory.BytesOf(data)
	if !memory.LittleEndian {
		b = memory.Aligned(len(b))
		vector.Copy(b, memory.BytesOf(data), d.wordSize())
	}
	return FromBytes(name, d, shape, b)
}
