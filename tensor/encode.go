package tensor

import (
	"encoding/binary"
	"fmt"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
)

// Encode is the inverse of Decode for floating-point numbers. It fills dst with
// little-endian elements of dtype d, which is Float64, Float32, Float16 or BFloat16. Each is
// rounded once, to nearest, ties to even. dst must have the exact size of the result.
func Encode[F float32 | float64](dst []byte, d DType, src []F) error {
	switch d {
	case Float64, Float32, Float16, BFloat16:
	default:
		return fmt.Errorf("%w: cannot encode %T as %v", ErrDType, src, d)
	}
	if err := checkRoom(dst, len(src), d); err != nil {
		return err
	}
	le := binary.LittleEndian
	single, isSingle := any(src).([]float32)
	switch {
	case d == Float64:
		encodeAll[float64](dst, src)
	case d == Float32:
		encodeAll[float32](dst, src)
	case isSingle && d == Float16:
		vector.EncodeFloat16(dst, single)
	case isSingle:
		vector.EncodeBFloat16(dst, single)
	case d == Float16:
		for i, x := range src {
			le.PutUint16(dst[2*i:], uint16(F16From(towardOdd(float64(x)))))
		}
	default:
		for i, x := range src {
			le.PutUint16(dst[2*i:], uint16(BF16From(towardOdd(float64(x)))))
		}
	}
	return nil
}

// encodeAll is the inverse of convertAll.
func encodeAll[T, F float32 | float64](dst []byte, src []F) {
	var piece [128]T
	size := len(memory.BytesOf(piece[:1]))
	for len(src) > 0 {
		n := min(len(src), len(piece))
		for i, x := range src[:n] {
			piece[i] = T(x)
		}
		copy(dst, memory.BytesOf(piece[:n]))
		if !memory.LittleEndian {
			vector.Swap(dst[:n*size], size)
		}
		src, dst = src[n:], dst[n*size:]
	}
}
