package tensor

import "fmt"

// Encoding is how the elements of a tensor are stored when they are not of a DType:
// blocks of quantized numbers, or a type that this library does not know. Such
// a tensor has DType Invalid, its raw bytes, and a name for what they are.
type Encoding struct {
	// Name is the file's own name of the type, "Q4_0".
	Name string
	// BlockElems and BlockBytes are the elements and bytes of one block along the
	// innermost axis; 0 when they are not known.
	BlockElems, BlockBytes int64
	// Decode fills dst with the values of whole blocks, len(dst) elements of them;
	// nil when the library cannot read them as numbers.
	Decode func(dst []float32, src []byte) error
}

// Bytes returns the size of a tensor of this shape, with the checks of
// Shape.ByteSize: the innermost dim is a multiple of a block. A scalar has one
// element, so it takes blocks of one. Without a known block it is ErrDType.
func (e *Encoding) Bytes(s Shape) (int64, error) {
	if e.BlockElems <= 0 || e.BlockBytes <= 0 {
		return 0, fmt.Errorf("%w: %s elements have no known size", ErrDType, e.Name)
	}
	if e.BlockElems == 1 {
		return s.product(e.BlockBytes, 1)
	}
	if len(s) == 0 || s[len(s)-1]%e.BlockElems != 0 {
		return 0, fmt.Errorf("%w: rows of %v are not a multiple of %d, a block of %s", ErrShape, s, e.BlockElems, e.Name)
	}
	if _, err := s.Elems(); err != nil {
		return 0, err
	}
	return s.product(e.BlockBytes, e.BlockElems)
}

// unreadable says why a tensor of this shape cannot be read as numbers, before
// memory is allocated for as many as its shape claims.
func (e *Encoding) unreadable(s Shape) error {
	if e.Decode == nil {
		return fmt.Errorf("%w: %s elements cannot be read as numbers", ErrDType, e.Name)
	}
	_, err := e.Bytes(s)
	return err
}

// decodeBlocks is Decode for tensors with an encoding.
func decodeBlocks[T Elem](dst []T, b []byte, e *Encoding) error {
	switch out := any(dst).(type) {
	case []float32:
		return e.Decode(out, b)
	case []float64:
		single := make([]float32, len(out))
		if err := e.Decode(single, b); err != nil {
			return err
		}
		for i, x := range single {
			out[i] = float64(x)
		}
		return nil
	}
	var zero T
	return fmt.Errorf("%w: %s does not decode as %T", ErrDType, e.Name, zero)
}
