package tensor

import (
	"math"
	"testing"
)

// small describes a 16-bit float for the slow reference.
type small struct {
	name  string
	mbits int // fraction bits
	emin  int // exponent of the smallest normal number
	emax  int // exponent of the largest
	wide  func(uint16) float32
	from  func(float32) uint16
	fro64 func(float64) uint16
}

var smalls = []small{
	{"float16", 10, -14, 15,
		func(b uint16) float32 { return F16(b).Float32() },
		func(f float32) uint16 { return uint16(F16From(f)) },
		func(f float64) uint16 { return uint16(F16From(towardOdd(f))) }},
	{"bfloat16", 7, -126, 127,
		func(b uint16) float32 { return BF16(b).Float32() },
		func(f float32) uint16 { return uint16(BF16From(f)) },
		func(f float64) uint16 { return uint16(BF16From(towardOdd(f))) }},
}

// inf returns the bits of +Inf.
func (s small) inf() uint16 { return uint16(s.emax+s.emax+1) << s.mbits }

// value is what the bits of a finite number mean, by the definition in IEEE 754.
func (s small) value(b uint16) float64 {
	frac := float64(b & (1<<s.mbits - 1))
	exp := int(b & 0x7fff >> s.mbits)
	var v float64
	if exp == 0 {
		v = math.Ldexp(frac, s.emin-s.mbits)
	} else {
		v = math.Ldexp(1+math.Ldexp(frac, -s.mbits), exp-s.emax)
	}
	if b&0x8000 != 0 {
		return -v
	}
	return v
}

// nearest rounds by definition: scale to units in the last place, which is
// exact, round those to an integer, ties to even, and read off the bits.
func (s small) nearest(f float64) uint16 {
	var sign uint16
	if math.Signbit(f) {
		sign = 0x8000
	}
	a := math.Abs(f)
	if math.IsInf(a, 0) {
		return sign | s.inf()
	}
	_, e := math.Frexp(a)
	e = max(e-1, s.emin) // a = 1.x * 2^e, or below the normal numbers
	n := math.RoundToEven(math.Ldexp(a, s.mbits-e))
	if n == math.Ldexp(1, s.mbits+1) {
		n, e = n/2, e+1
	}
	if e > s.emax {
		return sign | s.inf()
	}
	if n < math.Ldexp(1, s.mbits) {
		return sign | uint16(n) // subnormal
	}
	return sign | uint16(e+s.emax)<<s.mbits | uint16(n)&(1<<s.mbits-1)
}

// check compares both narrowing functions with the reference.
func (s small) check(t *testing.T, f float64) {
	t.Helper()
	want := s.nearest(f)
	if got := s.fro64(f); got != want {
		t.Fatalf("from64(%g = %#x) = %#04x, want %#04x", f, math.Float64bits(f), got, want)
	}
	if f32 := float32(f); float64(f32) == f {
		if got := s.from(f32); got != want {
			t.Fatalf("from(%g = %#x) = %#04x, want %#04x", f32, math.Float32bits(f32), got, want)
		}
	}
}

func TestFloat16Midpoints(t *testing.T) {
	for _, s := range smalls {
		t.Run(s.name, func(t *testing.T) {
			// Above the largest number the next one would be 2^(emax+1).
			for b := uint16(0); b < s.inf(); b++ {
				lo, hi := s.value(b), s.value(b+1)
				mid := (lo + hi) / 2
				even := b + b&1
				if got := s.fro64(mid); got != even {
					t.Fatalf("midpoint %g after %#04x = %#04x, want %#04x", mid, b, got, even)
				}
				for _, f := range []float64{lo, mid, math.Nextafter(mid, 0), math.Nextafter(mid, hi)} {
					s.check(t, f)
					s.check(t, -f)
				}
				m := float32(mid)
				for _, f := range []float32{m, math.Nextafter32(m, 0), math.Nextafter32(m, math.MaxFloat32)} {
					s.check(t, float64(f))
					s.check(t, -float64(f))
				}
			}
		})
	}
}

func TestFloat16NaN(t *testing.T) {
	for _, tt := range []struct {
		name        string
		bits        uint32
		half, brain uint16
	}{
		{"quiet", 0x7fc00000, 0x7e00, 0x7fc0},
		{"negative quiet", 0xffc00000, 0xfe00, 0xffc0},
		{"signaling, payload kept", 0x7fa00000, 0x7d00, 0x7fa0},
		{"payload below both", 0x7f800001, 0x7e00, 0x7fc0},
		{"payload below bfloat16", 0x7f802000, 0x7c01, 0x7fc0},
		{"all ones", 0xffffffff, 0xffff, 0xffff},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := math.Float32frombits(tt.bits)
			if got := uint16(F16From(f)); got != tt.half {
				t.Errorf("float16 = %#04x, want %#04x", got, tt.half)
			}
			if got := uint16(BF16From(f)); got != tt.brain {
				t.Errorf("bfloat16 = %#04x, want %#04x", got, tt.brain)
			}
			// The same NaN as a float64, built by hand: conversions make it quiet.
			d := math.Float64frombits(uint64(tt.bits)&sign32<<32 | 0x7ff<<52 | uint64(tt.bits)&(1<<23-1)<<29)
			if got := uint16(F16From(towardOdd(d))); got != tt.half {
				t.Errorf("float16 from float64 = %#04x, want %#04x", got, tt.half)
			}
			if got := uint16(BF16From(towardOdd(d))); got != tt.brain {
				t.Errorf("bfloat16 from float64 = %#04x, want %#04x", got, tt.brain)
			}
		})
	}
	low := math.Float64frombits(0x7ff<<52 | 1)
	if h, b := F16From(towardOdd(low)), BF16From(towardOdd(low)); h != 0x7e00 || b != 0x7fc0 {
		t.Errorf("lowest payload of a float64 = %#04x, %#04x", h, b)
	}
}
