package gguf

import (
	"encoding/binary"
	"fmt"

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
	return elementType{encoding: e}
}

// eachBlock describes a type by a function that decodes one block.
func eachBlock(name string, elems, bytes int64, decode func(dst []float32, b []byte)) elementType {
	return blocks(name, elems, bytes, func(dst []float32, src []byte) {
		for len(dst) > 0 {
			decode(dst[:elems:elems], src[:bytes:bytes])
			dst, src = dst[elems:], src[bytes:]
		}
	})
}

// wholeBlocks refuses elements and bytes that are not the same number of blocks.
func wholeBlocks(e *tensor.Encoding, elems, bytes int) error {
	if int64(elems)%e.BlockElems != 0 || int64(elems)/e.BlockElems != int64(bytes)/e.BlockBytes || int64(bytes)%e.BlockBytes != 0 {
		return fmt.Errorf("%w: %d bytes of %s for %d elements", tensor.ErrShape, bytes, e.Name, elems)
	}
	return nil
}

func half(b []byte) float32 { return tensor.F16(binary.LittleEndian.Uint16(b)).Float32() }
