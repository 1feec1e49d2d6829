package gguf

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/tensor"
)

// blocks describes a type by the elements and bytes of a block. decode fills dst
// from as many whole blocks; it is nil for types that are known by name only.
func blocks(name string, elems, bytes int64, decode func(dst []float32, src []byte)) elementType {
	e := &tensor.Encoding{Name: name, BlockElems: elems, BlockBytes: bytes}
	if decode != nil {
		e.Decode = func(dst []float32, src []byte) error {
			if err := wholeBlocks(e, len(dst), len(src)); err != nil {
				return err
			}
			decode(dst, src)
			return nil
		}
	}
	return elementType{name: name, encoding: e}
}

// eachBlock describes a type by a function that decodes one block.
func eachBlock(name string, elems, bytes int64, decode func(dst []float32, b []byte)) elementType {
	return blocks(name, elems, bytes, func(dst []float32, src []byte) {
		for len(dst) > 0 {
			decode(dst[:elems:elems], src[:bytes:bytes])
			dst = dst[elems:]
			src = src[bytes:]
		}
	})
}

// wholeBlocks refuses elements and bytes that are not the same number of blocks.
func wholeBlocks(e *tensor.Encoding, elems, bytes int) error {
	blocks := int64(bytes) / e.BlockBytes
	if int64(elems) != blocks*e.BlockElems || int64(bytes) != blocks*e.BlockBytes {
		return fmt.Errorf("%w: %d bytes of %s for %d elements", tensor.ErrShape, bytes, e.Name, elems)
	}
	return nil
}

func half(b []byte) float32 { return tensor.F16(binary.LittleEndian.Uint16(b)).Float32() }

// Q8_0 returns the encoding of blocks of 32 int8 with a float16 scale, the one that this
// package can also make: tensor.QuantizeOptions takes it. A file of such tensors says which
// version of the blocks they are, unless its metadata does.
func Q8_0() *tensor.Encoding { return q8_0 }

// q8_0 is not what readers of files return: a copy of these says what they say.
var q8_0 = func() *tensor.Encoding {
	e := *elementTypes[codeQ8_0].encoding
	e.Encode = func(dst []byte, src []float32) error {
		err := wholeBlocks(&e, len(src), len(dst))
		if err != nil {
			return err
		}
		n := vector.EncodeQ8(dst, src) * int(e.BlockElems)
		if n == len(src) {
			return nil
		}
		most := 0.0 // or a NaN
		for _, x := range src[n:][:e.BlockElems] {
			most = max(most, math.Abs(float64(x)))
		}
		return fmt.Errorf("%w: Q8_0 cannot express %v", tensor.ErrQuantization, most)
	}
	return &e
}()
