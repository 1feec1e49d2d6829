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
	size := int(d.Size())
	if len(dst)/size != len(src) || len(dst)%size != 0 {
		return fmt.Errorf("%w: %d bytes for %d elements of %v", ErrShape, len(dst), len(src), d)
	}
	switch in := any(src).(type) {
	case []float32:
		encodeSingle(dst, d, in)
	case []float64:
		encodeDouble(dst, d, in)
	}
	return nil
}

func encodeSingle(dst []byte, d DType, src []float32) {
	le := binary.LittleEndian
	switch d {
	case Float64:
		for i, x := range src {
			le.PutUint64(dst[8*i:], math.Float64bits(float64(x)))
		}
	case Float32:
		for i, x := range src {
			le.PutUint32(dst[4*i:], math.Float32bits(x))
		}
	case Float16:
		encodeFloat16(dst, src)
	case BFloat16:
		encodeBFloat16(dst, src)
	}
}

func encodeDouble(dst []byte, d DType, src []float64) {
	le := binary.LittleEndian
	switch d {
	case Float64:
		for i, x := range src {
			le.PutUint64(dst[8*i:], math.Float64bits(x))
		}
	case Float32:
		for i, x := range src {
			le.PutUint32(dst[4*i:], math.Float32bits(float32(x)))
		}
	case Float16:
		for i, x := range src {
			le.PutUint16(dst[2*i:], uint16(F16From64(x)))
		}
	case BFloat16:
		for i, x := range src {
			le.PutUint16(dst[2*i:], uint16(BF16From64(x)))
		}
	}
}
