package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Encode is the inverse of Decode for floating-point numbers: it fills dst with
// little-endian elements of dtype Float64, Float32, Float16 or BFloat16, each
// rounded once, to the nearest and ties to even. dst has room for exactly src.
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
	switch single, isSingle := any(src).([]float32); {
	case d == Float64:
		for i, x := range src {
			le.PutUint64(dst[8*i:], math.Float64bits(float64(x)))
		}
	case d == Float32:
		for i, x := range src {
			le.PutUint32(dst[4*i:], math.Float32bits(float32(x)))
		}
	case isSingle && d == Float16:
		encodeFloat16(dst, single)
	case isSingle:
		for i, x := range single {
			le.PutUint16(dst[2*i:], uint16(BF16From(x)))
		}
	case d == Float16:
		for i, x := range src {
			le.PutUint16(dst[2*i:], narrow64(float64(x), 5, 10))
		}
	default:
		for i, x := range src {
			le.PutUint16(dst[2*i:], narrow64(float64(x), 8, 7))
		}
	}
	return nil
}
