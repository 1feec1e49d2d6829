package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
)

// Decode returns the tensor's elements as T in fresh memory, or in dst's when
// its capacity suffices, whatever the alignment, compression and byte order.
//
// Float32 and float64 take any dtype but complex64: half-precision, integer
// and bool elements (as 0 and 1) are converted, float64 is rounded to float32, and quantized
// tensors (Info().Quant) become the real numbers they stand for. Any other T must
// be one that As accepts for the dtype and gives the stored values.
// Errors: ErrDType, ErrQuantization, ErrTruncated, ErrClosed.
func Decode[T Elem](dst []T, v View) ([]T, error) {
	err := v.Use(func(b []byte) error {
		// The memory is allocated only now: a compressed tensor has proved by
		// then that its declared size is real.
		if e := v.ref().Info().Encoding; e != nil {
			if err := e.unreadable(v.Shape()); err != nil {
				return v.explain(err)
			}
		}
		n, one := v.Len(), [1]T{}
		if size := len(memory.BytesOf(one[:])); n > int64(math.MaxInt/size) {
			return v.explain(fmt.Errorf("%w: %d elements are more than this platform can address", ErrLimit, n))
		}
		dst = slices.Grow(dst[:0], int(n))[:n]
		return v.explain(decode(dst, b, v.ref().Info()))
	})
	if err != nil {
		return nil, err
	}
	return dst, nil
}

func decode[T Elem](dst []T, b []byte, info *Info) error {
	if info.Encoding != nil {
		return decodeBlocks(dst, b, info.Encoding)
	}
	switch out := any(dst).(type) {
	case []float32:
		if info.Quant != nil {
			return Dequantize(out, b, info.DType, info.Shape, info.Quant)
		}
		if info.DType != Float32 {
			return toFloat(out, b, info.DType)
		}
	case []float64:
		if info.Quant != nil {
			single := make([]float32, len(out))
			if err := Dequantize(single, b, info.DType, info.Shape, info.Quant); err != nil {
				return err
			}
			for i, x := range single {
				out[i] = float64(x)
			}
			return nil
		}
		if info.DType != Float64 {
			return toFloat(out, b, info.DType)
		}
	}
	if !viewable[T](info.DType) {
		var zero T
		return fmt.Errorf("%w: %v does not decode as %T", ErrDType, info.DType, zero)
	}
	decodeCopy(dst, b, info.DType.wordSize())
	return nil
}

// decodeCopy is the copying twin of cast: it fills dst from little-endian
// bytes made of words of the given size.
func decodeCopy[T Elem](dst []T, b []byte, word int) {
	out := memory.BytesOf(dst)
	copy(out, b)
	if !memory.LittleEndian {
		swapWords(out, word)
	}
}

// swapWords reverses the bytes of each word in place.
func swapWords(b []byte, word int) {
	if word < 2 {
		return
	}
	for ; len(b) >= word; b = b[word:] {
		slices.Reverse(b[:word])
	}
}

// toFloat converts little-endian elements of any real dtype.
func toFloat[F float32 | float64](dst []F, b []byte, d DType) error {
	le := binary.LittleEndian
	switch d {
	case Float64:
		for i := range dst {
			dst[i] = F(math.Float64frombits(le.Uint64(b[8*i:])))
		}
	case Float32:
		for i := range dst {
			dst[i] = F(math.Float32frombits(le.Uint32(b[4*i:])))
		}
	case Float16:
		if out, ok := any(dst).([]float32); ok {
			vector.Float16(out, b)
			return nil
		}
		for i := range dst {
			dst[i] = F(F16(le.Uint16(b[2*i:])).Float32())
		}
	case BFloat16:
		if out, ok := any(dst).([]float32); ok {
			vector.BFloat16(out, b)
			return nil
		}
		for i := range dst {
			dst[i] = F(BF16(le.Uint16(b[2*i:])).Float32())
		}
	default:
		return intToFloat(dst, b, d)
	}
	return nil
}

// intToFloat is toFloat for the integer dtypes, bool, and the float8 types.
func intToFloat[F float32 | float64](dst []F, b []byte, d DType) error {
	le := binary.LittleEndian
	switch d {
	case Int64:
		for i := range dst {
			dst[i] = F(int64(le.Uint64(b[8*i:])))
		}
	case Int32:
		for i := range dst {
			dst[i] = F(int32(le.Uint32(b[4*i:])))
		}
	case Int16:
		for i := range dst {
			dst[i] = F(int16(le.Uint16(b[2*i:])))
		}
	case Int8:
		if out, ok := any(dst).([]float32); ok {
			vector.Linear(out, b, vector.Int8, 1, 0)
			return nil
		}
		for i := range dst {
			dst[i] = F(int8(b[i]))
		}
	case Uint64:
		for i := range dst {
			dst[i] = F(le.Uint64(b[8*i:]))
		}
	case Uint32:
		for i := range dst {
			dst[i] = F(le.Uint32(b[4*i:]))
		}
	case Uint16:
		for i := range dst {
			dst[i] = F(le.Uint16(b[2*i:]))
		}
	case Uint8:
		if out, ok := any(dst).([]float32); ok {
			vector.Linear(out, b, vector.Uint8, 1, 0)
			return nil
		}
		for i := range dst {
			dst[i] = F(b[i])
		}
	case Bool:
		for i := range dst {
			dst[i] = F(min(b[i], 1))
		}
	case Float8E4M3FN:
		table := e4m3fn()
		for i := range dst {
			dst[i] = F(table[b[i]])
		}
	case Float8E5M2:
		table := e5m2()
		for i := range dst {
			dst[i] = F(table[b[i]])
		}
	default:
		return fmt.Errorf("%w: %v has no real values", ErrDType, d)
	}
	return nil
}
