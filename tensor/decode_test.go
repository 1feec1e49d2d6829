package tensor

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exact returns the value of the element at the start of b as a big float, by
// the definition of its dtype. NaN and infinities are answered as floats.
func exact(b []byte, d DType) (*big.Float, float64) {
	bits := uint64(0)
	for i := int(d.Size()) - 1; i >= 0; i-- {
		bits = bits<<8 | uint64(b[i])
	}
	number := func(f float64) (*big.Float, float64) {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, f
		}
		return big.NewFloat(f), f
	}
	signed := func(n int64) (*big.Float, float64) { return new(big.Float).SetInt64(n), 0 }
	switch d {
	case Float64:
		return number(math.Float64frombits(bits))
	case Float32:
		return number(float64(math.Float32frombits(uint32(bits))))
	case Float16:
		switch s := smalls[0]; {
		case bits&0x7fff > uint64(s.inf()):
			return nil, math.NaN()
		case bits&0x7fff == uint64(s.inf()):
			return nil, math.Inf(1 - int(bits>>15)*2)
		default:
			return number(s.value(uint16(bits)))
		}
	case BFloat16:
		return number(float64(math.Float32frombits(uint32(bits) << 16)))
	case Int64:
		return signed(int64(bits))
	case Int32:
		return signed(int64(int32(bits)))
	case Int16:
		return signed(int64(int16(bits)))
	case Int8:
		return signed(int64(int8(bits)))
	case Bool:
		return signed(int64(min(bits, 1)))
	case Float8E4M3FN:
		if bits&0x7f == 0x7f {
			return nil, math.NaN()
		}
		return number(minifloat(int(bits), 3, 7))
	case Float8E5M2:
		switch {
		case bits&0x7f > 0x7c:
			return nil, math.NaN()
		case bits&0x7f == 0x7c:
			return nil, math.Inf(1 - int(bits>>7)*2)
		}
		return number(minifloat(int(bits), 2, 15))
	}
	return new(big.Float).SetUint64(bits), 0
}

// minifloat returns the value of a finite 8-bit number with the given number of fraction bits.
func minifloat(bits, fraction, bias int) float64 {
	exponent, f := bits&0x7f>>fraction, float64(bits&(1<<fraction-1))/float64(int(1)<<fraction)
	value := math.Ldexp(f, 1-bias)
	if exponent > 0 {
		value = math.Ldexp(1+f, exponent-bias)
	}
	return math.Copysign(value, float64(1-bits>>7*2))
}

// TestDecodeReal decodes every real dtype as float32 and float64, and compares
// with exact arithmetic rounded once.
func TestDecodeReal(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	for _, d := range allDTypes() {
		if d == Complex64 {
			continue
		}
		t.Run(d.String(), func(t *testing.T) {
			const n = 700
			data := randBytes(r, n*int(d.Size()))
			copy(data, make([]byte, 16)) // some zeros
			for i := 16; i < 32; i++ {
				data[i] = 0xff
			}
			v := newView(&Info{Name: "w", DType: d, Shape: Shape{n}, Size: int64(len(data))}, &owner{}, data)
			single, err := Decode[float32](nil, v)
			must(t, err)
			double, err := Decode[float64](nil, v)
			must(t, err)
			for i := range n {
				x, f := exact(data[i*int(d.Size()):], d)
				want32, want64 := float32(f), f
				if x != nil {
					want32, _ = x.Float32()
					want64, _ = x.Float64()
				}
				if !same(float64(single[i]), float64(want32)) || !same(double[i], want64) {
					t.Fatalf("element %d, % x: %v and %v, want %v and %v", i, data[i*int(d.Size()):][:d.Size()], single[i], double[i], want32, want64)
				}
			}
		})
	}
}

// same compares numbers; one NaN is as good as another.
func same(a, b float64) bool { return a == b && math.Signbit(a) == math.Signbit(b) || a != a && b != b }

// TestDecodeInto reuses the caller's memory when it suffices.
func TestDecodeInto(t *testing.T) {
	v, _ := FromBytes("w", Uint8, Shape{3}, []byte{1, 2, 3})
	dst := make([]float32, 1, 3)
	got, err := Decode(dst, v)
	if err != nil || len(got) != 3 || &got[0] != &dst[0] {
		t.Errorf("%v, %v: not in the caller's memory", got, err)
	}
	small := make([]float32, 2)
	got, err = Decode(small, v)
	if d := cmp.Diff([]float32{1, 2, 3}, got); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
	empty, _ := FromBytes("e", Float32, Shape{0}, nil)
	if got, err := Decode(dst, empty); err != nil || len(got) != 0 {
		t.Errorf("an empty tensor: %v, %v", got, err)
	}
}
