package inspect

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/tensor"
)

// appendNumber appends a little-endian element as text: floats in the shortest form that is unique,
// complex numbers in Python's syntax.
func appendNumber(out []byte, d tensor.DType, b []byte) []byte {
	order := binary.LittleEndian
	switch d {
	case tensor.Float64:
		return appendFloat(out, math.Float64frombits(order.Uint64(b)), 64)
	case tensor.Float32:
		return appendFloat(out, float64(math.Float32frombits(order.Uint32(b))), 32)
	case tensor.Float16:
		return appendFloat(out, float64(tensor.F16(order.Uint16(b)).Float32()), 32)
	case tensor.Int64:
		return strconv.AppendInt(out, int64(order.Uint64(b)), 10)
	case tensor.Int32:
		return strconv.AppendInt(out, int64(int32(order.Uint32(b))), 10)
	case tensor.Int16:
		return strconv.AppendInt(out, int64(int16(order.Uint16(b))), 10)
	case tensor.Int8:
		return strconv.AppendInt(out, int64(int8(b[0])), 10)
	case tensor.Uint64:
		return strconv.AppendUint(out, order.Uint64(b), 10)
	case tensor.Uint32:
		return strconv.AppendUint(out, uint64(order.Uint32(b)), 10)
	case tensor.Uint16:
		return strconv.AppendUint(out, uint64(order.Uint16(b)), 10)
	case tensor.Bool:
		return strconv.AppendBool(out, b[0] != 0)
	case tensor.Complex64:
		out = appendFloat(out, float64(math.Float32frombits(order.Uint32(b))), 32)
		im := float64(math.Float32frombits(order.Uint32(b[4:])))
		if !math.Signbit(im) || math.IsNaN(im) {
			out = append(out, '+')
		}
		return append(appendFloat(out, im, 32), 'j')
	default:
		return strconv.AppendUint(out, uint64(b[0]), 10) // uint8
	}
}

// appendFloat appends x, a float of the given size in bits.
func appendFloat(out []byte, x float64, bits int) []byte {
	if math.IsInf(x, 1) {
		return append(out, "Inf"...) // strconv would write a sign
	}
	return strconv.AppendFloat(out, x, 'g', -1, bits)
}
