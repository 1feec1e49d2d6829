package tensor

import (
	"fmt"
	"math"
)

// Encoding describes how a tensor's elements are stored when no DType fits: as blocks of
// quantized numbers, or as a type that this library does not know. Such a tensor has
// DType Invalid; its raw bytes are available.
type Encoding struct {
	// Name is the name of the type in the file, such as "Q4_0".
	Name string
	// Format is the only format that has the type, or "" if the name means the same in every
	// format.
	Format string
	// BlockElems and BlockBytes are the elements and bytes of one block along the
	// innermost axis, or 0 if unknown.
	BlockElems, BlockBytes int64
	// Flat means that blocks run across rows, through all elements; the last may be partly used.
	Flat bool
	// Decode decodes len(dst) elements, a whole number of blocks, from src. It is nil if the
	// library cannot decode the type.
	Decode func(dst []float32, src []byte) error
	// Encode encodes src, a whole number of blocks, to dst. It returns ErrQuantization for
	// values that no block can represent. It is nil if the library cannot encode the type.
	Encode func(dst []byte, src []float32) error
}

// Bytes returns the size in bytes of a tensor of the given shape, with the checks of
// Shape.ByteSize. The innermost dim must be a multiple of BlockElems, unless Flat is set. A
// scalar has one element. Bytes returns ErrDType if the block size is unknown.
func (e *Encoding) Bytes(s Shape) (int64, error) {
	if e.BlockElems <= 0 || e.BlockBytes <= 0 {
		return 0, fmt.Errorf("%w: %s elements have no known size", ErrDType, e.Name)
	}
	if e.Flat && e.BlockElems > 1 {
		n, err := s.Elems()
		blocks := n/e.BlockElems + min(n%e.BlockElems, 1)
		if err == nil && blocks > math.MaxInt64/e.BlockBytes {
			err = fmt.Errorf("%w: %v overflows", ErrShape, s)
		}
		return blocks * e.BlockBytes, err
	}
	if e.BlockElems > 1 && (len(s) == 0 || s[len(s)-1]%e.BlockElems != 0) {
		return 0, fmt.Errorf("%w: rows of %v are not a multiple of %d, a block of %s", ErrShape, s, e.BlockElems, e.Name)
	}
	if _, err := s.Elems(); err != nil {
		return 0, err
	}
	return s.product(e.BlockBytes, e.BlockElems)
}

// decodeBlocks decodes elements from element skip of the first block of b on. If only a part of a
// block is wanted, it decodes the block to scratch memory.
func decodeBlocks(dst []float32, b []byte, skip int, e *Encoding) error {
	elems := int(e.BlockElems)
	size := int(e.BlockBytes)
	room := borrow(elems)
	defer scratch.Put(room)
	for ; len(dst) > 0; skip = 0 {
		blocks := len(dst) / elems
		out := dst
		if skip > 0 || blocks == 0 {
			blocks = 1
			out = singles(*room)
		}
		if err := e.Decode(out[:blocks*elems], b[:blocks*size]); err != nil {
			return err
		}
		n := copy(dst, out[skip:blocks*elems])
		dst = dst[n:]
		b = b[blocks*size:]
	}
	return nil
}
