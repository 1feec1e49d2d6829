// Package lowbit decodes element types of 2 to 8 bits without a tensor.DType, for which
// safetensors, ONNX and PyTorch have different names. Elements are packed without padding, starting
// at the lowest bits; only the last byte of a tensor may be partly used.
package lowbit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/tensor"
)

// kind is a type: its size in bits, its names, the bit pattern that is NaN, 0 if none is, and the
// values of the others.
type kind struct {
	bits  int64
	names []string
	nan   int
	value func(pattern int) float64
}

// kinds lists the types. Scale types and FNUZ types have one NaN and no infinity.
var kinds = []kind{
	{4, []string{"F4", "FLOAT4E2M1", "float4_e2m1"}, 0, Float(2, 1, 1)},
	{6, []string{"F6_E2M3"}, 0, Float(2, 3, 1)},
	{6, []string{"F6_E3M2"}, 0, Float(3, 2, 3)},
	{8, []string{"F8_E8M0", "FLOAT8E8M0", "float8_e8m0fnu"}, 0xff, func(p int) float64 { return math.Ldexp(1, p-127) }},
	{8, []string{"F8_E4M3FNUZ", "FLOAT8E4M3FNUZ", "float8_e4m3fnuz"}, 0x80, Float(4, 3, 8)},
	{8, []string{"F8_E5M2FNUZ", "FLOAT8E5M2FNUZ", "float8_e5m2fnuz"}, 0x80, Float(5, 2, 16)},
	{4, []string{"UINT4"}, 0, func(p int) float64 { return float64(p) }},
	{4, []string{"INT4"}, 0, func(p int) float64 { return float64(int8(p<<4) >> 4) }},
	{2, []string{"UINT2"}, 0, func(p int) float64 { return float64(p) }},
	{2, []string{"INT2"}, 0, func(p int) float64 { return float64(int8(p<<6) >> 6) }},
}

// Float returns a function for the values of floating-point bit patterns, without special values.
func Float(exponentBits, fractionBits, bias int) func(pattern int) float64 {
	return func(p int) float64 {
		exponent := p >> fractionBits & (1<<exponentBits - 1)
		fraction := p & (1<<fractionBits - 1)
		if exponent > 0 {
			fraction |= 1 << fractionBits
			exponent--
		}
		x := math.Ldexp(float64(fraction), exponent+1-bias-fractionBits)
		if p>>(exponentBits+fractionBits)&1 != 0 {
			x = math.Copysign(x, -1)
		}
		return x
	}
}

// find returns the type called name, or nil.
func find(name string) *kind {
	for i := range kinds {
		if slices.Contains(kinds[i].names, name) {
			return &kinds[i]
		}
	}
	return nil
}

// Type returns the first name of the type called name: those of different formats for one type have
// the same. It returns other names unchanged.
func Type(name string) string {
	if k := find(name); k != nil {
		return k.names[0]
	}
	return name
}

// IsInteger reports whether name is an integer type.
func IsInteger(name string) bool {
	return strings.HasPrefix(name, "INT") || strings.HasPrefix(name, "UINT")
}

// Encoding returns the encoding of the type called name, or nil if there is none.
func Encoding(name string) *tensor.Encoding {
	k := find(name)
	if k == nil {
		return nil
	}
	e := &tensor.Encoding{Name: name, Flat: true, BlockElems: 1, BlockBytes: 1}
	for e.BlockElems*k.bits%8 != 0 {
		e.BlockElems++
	}
	e.BlockBytes = e.BlockElems * k.bits / 8
	values := sync.OnceValue(k.values)
	e.Decode = func(dst []float32, src []byte) error {
		if int64(len(dst))%e.BlockElems != 0 || int64(len(dst))/e.BlockElems*e.BlockBytes != int64(len(src)) {
			return fmt.Errorf("%w: %d bytes of %s for %d elements", tensor.ErrShape, len(src), name, len(dst))
		}
		table := values()
		mask := uint32(1)<<k.bits - 1
		if k.bits == 8 {
			vector.Lookup(dst, src, table)
			return nil
		}
		word := uint32(0)
		have := int64(0)
		for i := range dst {
			if have < k.bits {
				word |= uint32(src[0]) << have
				src = src[1:]
				have = have + 8
			}
			dst[i] = table[word&mask]
			word = word >> k.bits
			have = have - k.bits
		}
		return nil
	}
	return e
}

// values returns the value of each bit pattern.
func (k *kind) values() *[256]float32 {
	var all [256]float32
	for p := range 1 << k.bits {
		all[p] = float32(k.value(p))
	}
	if k.nan != 0 {
		all[k.nan] = float32(math.NaN())
	}
	return &all
}
