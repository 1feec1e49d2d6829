package tensor

import (
	"fmt"
	"math"
)

// Encoding is how the elements of a tensor are stored when they are not of a DType:
// blocks of quantized numbers, or a type that this library does not know. Such
// a tensor has DType Invalid, its raw bytes, and a name for what they are.
type Encoding struct {
	// Name is the file's own name of the type, "Q4_0".
	Name string
	// Format is the only format that has the type, "" if its name means the same in others.
	Format string
	// BlockElems and BlockBytes are the elements and bytes of one block along the
	// innermost axis; 0 when they are not known.
	BlockElems, BlockBytes int64
	// Flat says that blocks go through all elements, row after row, and that the last may be partly used.
	Flat bool
	// Decode fills dst with the values of whole blocks, len(dst) elements of them;
	// nil when the library cannot read them as numbers.
	Decode func(dst []float32, src []byte) error
	// Encode fills dst with whole blocks of the values in src; nil when the library
	// cannot write them. Values that no block stands for are ErrQuantization.
	Encode func(dst []byte, src []float32) error
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
	if e.Flat {
		n, err := s.Elems()
		blocks := n / e.BlockElems
		if n%e.BlockElems != 0 {
			blocks++
		}
		if err == nil && blocks > math.MaxInt64/e.BlockBytes {
			err = fmt.Errorf("%w: %v overflows", ErrShape, s)
		}
		return blocks * e.BlockBytes, err
	}
	if len(s) == 0 || s[len(s)-1]%e.BlockElems != 0 {
		return 0, fmt.Errorf("%w: rows of %v are not a multiple of %d, a block of %s", ErrShape, s, e.BlockElems, e.Name)
	}
	if _, err := s.Elems(); err != nil {
		return 0, err
	}
	return s.product(e.BlockBytes, e.BlockElems)
}

// decodeBlocks decodes elements from element skip of b on, which need not be the first of
// a block. Of a block that is wanted in part, the whole is decoded aside.
func decodeBlocks(dst []float32, b []byte, skip int64, e *Encoding) error {
	elems := int(e.BlockElems)
	b = b[skip/e.BlockElems*e.BlockBytes:]
	for skip := int(skip % e.BlockElems); len(dst) > 0; skip = 0 {
		if n := len(dst) / elems; skip == 0 && n > 0 {
			size := n * int(e.BlockBytes)
			if err := e.Decode(dst[:n*elems], b[:size]); err != nil {
				return err
			}
			dst, b = dst[n*elems:], b[size:]
			continue
		}
		n, err := decodePart(dst, b[:e.BlockBytes], skip, e)
		if err != nil {
			return err
		}
		dst, b = dst[n:], b[e.BlockBytes:]
	}
	return nil
}

// decodePart decodes a part of a block and returns how many elements that are.
func decodePart(dst []float32, block []byte, skip int, e *Encoding) (n int, err error) {
	room := scratch.Get().(*[]float32)
	defer scratch.Put(room)
	if int64(len(*room)) < e.BlockElems {
		*room = make([]float32, e.BlockElems)
	}
	whole := (*room)[:e.BlockElems]
	err = e.Decode(whole, block)
	return copy(dst, whole[skip:]), err
}
