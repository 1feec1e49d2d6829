package tensor

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
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

// minifloat returns the value of a finite number of 8 bits with so many of fraction.
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
			if err != nil {
				t.Fatal(err)
			}
			double, err := Decode[float64](nil, v)
			if err != nil {
				t.Fatal(err)
			}
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
func same(a, b float64) bool { return a == b || a != a && b != b }

// TestDecodeStored decodes each dtype as its own Go type, also from memory that
// is not aligned.
func TestDecodeStored(t *testing.T) {
	for _, tt := range []struct {
		name   string
		data   []byte
		dtype  DType
		decode func(View) (any, error)
		want   any
	}{
		{"float64", le(1.5, math.Inf(-1)), Float64, decoded[float64], []float64{1.5, math.Inf(-1)}},
		{"float32", le(float32(1.5), float32(-2)), Float32, decoded[float32], []float32{1.5, -2}},
		{"float32, named", le(float32(1.5), float32(-2)), Float32, decoded[single], []single{1.5, -2}},
		{"float32 as a named float64", le(float32(1.5), float32(-2)), Float32, decoded[double], []double{1.5, -2}},
		{"float16", le(uint16(0x3c00), uint16(0x8000)), Float16, decoded[F16], []F16{0x3c00, 0x8000}},
		{"float16 bits", le(uint16(0x3c00), uint16(0x7e01)), Float16, decoded[uint16], []uint16{0x3c00, 0x7e01}},
		{"bfloat16", le(uint16(0x3f80), uint16(1)), BFloat16, decoded[BF16], []BF16{0x3f80, 1}},
		{"bfloat16 bits", le(uint16(0x3f80), uint16(1)), BFloat16, decoded[uint16], []uint16{0x3f80, 1}},
		{"int64", le(int64(-2), int64(1<<62)), Int64, decoded[int64], []int64{-2, 1 << 62}},
		{"int32", le(int32(-2), int32(1<<30)), Int32, decoded[int32], []int32{-2, 1 << 30}},
		{"int16", le(int16(-2), int16(1<<14)), Int16, decoded[int16], []int16{-2, 1 << 14}},
		{"int8", le(int8(-2), int8(100)), Int8, decoded[int8], []int8{-2, 100}},
		{"uint64", le(uint64(1<<63), uint64(2)), Uint64, decoded[uint64], []uint64{1 << 63, 2}},
		{"uint32", le(uint32(1<<31), uint32(2)), Uint32, decoded[uint32], []uint32{1 << 31, 2}},
		{"uint16", le(uint16(1<<15), uint16(2)), Uint16, decoded[uint16], []uint16{1 << 15, 2}},
		{"uint8", le(uint8(200), uint8(2)), Uint8, decoded[uint8], []uint8{200, 2}},
		{"bool", le(uint8(1), uint8(2)), Bool, decoded[uint8], []uint8{1, 2}},
		{"complex64", le(float32(1), float32(2), float32(3), float32(4)), Complex64, decoded[complex64], []complex64{complex(1, 2), complex(3, 4)}},
	} {
		for skip := range 2 {
			b := memory.Aligned(len(tt.data) + skip)[skip:]
			copy(b, tt.data)
			v, err := FromBytes("w", tt.dtype, Shape{2}, b)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tt.decode(v)
			if d := cmp.Diff(tt.want, got); d != "" || err != nil {
				t.Errorf("%s, skip %d: %v (-want +got)\n%s", tt.name, skip, err, d)
			}
		}
	}
}

func decoded[T Elem](v View) (any, error) { return Decode[T](nil, v) }

func TestDecodeErrors(t *testing.T) {
	view := func(d DType, q *Quantization) View {
		return newView(&Info{Name: "w", DType: d, Shape: Shape{2}, Size: 2 * d.Size(), Quant: q}, &owner{}, make([]byte, 2*d.Size()))
	}
	for _, tt := range []struct {
		name   string
		view   View
		decode func(View) (any, error)
		want   error
	}{
		{"int32 as int64", view(Int32, nil), decoded[int64], ErrDType},
		{"float32 as int32", view(Float32, nil), decoded[int32], ErrDType},
		{"bool as int8", view(Bool, nil), decoded[int8], ErrDType},
		{"float32 as complex64", view(Float32, nil), decoded[complex64], ErrDType},
		{"complex64 as float32", view(Complex64, nil), decoded[float32], ErrDType},
		{"complex64 as float64", view(Complex64, nil), decoded[float64], ErrDType},
		{"unsound quantization", view(Int8, &Quantization{}), decoded[float32], ErrQuantization},
		{"unsound quantization, float64", view(Int8, &Quantization{}), decoded[float64], ErrQuantization},
	} {
		got, err := tt.decode(tt.view)
		var e *Error
		if !errors.Is(err, tt.want) || !errors.As(err, &e) || e.Field != `tensor "w"` {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
	// The stored integers of an unsoundly quantized tensor can still be read.
	if _, err := Decode[int8](nil, view(Int8, &Quantization{})); err != nil {
		t.Errorf("stored values of a tensor whose parameters are unsound: %v", err)
	}
}

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

// TestSwapWords is what big-endian hosts do after copying.
func TestSwapWords(t *testing.T) {
	for _, tt := range []struct {
		word int
		want []byte
	}{
		{1, []byte{0, 1, 2, 3, 4, 5, 6, 7}},
		{2, []byte{1, 0, 3, 2, 5, 4, 7, 6}},
		{4, []byte{3, 2, 1, 0, 7, 6, 5, 4}},
		{8, []byte{7, 6, 5, 4, 3, 2, 1, 0}},
	} {
		b := at(8, 0)
		vector.Swap(b, tt.word)
		if d := cmp.Diff(tt.want, b); d != "" {
			t.Errorf("words of %d (-want +got)\n%s", tt.word, d)
		}
	}
}

// TestDecodeEncoding reads elements that are not of a dtype with their own decoder, and
// allocates nothing for what has none: its shape may claim anything.
func TestDecodeEncoding(t *testing.T) {
	pairs := &Encoding{Name: "pairs", BlockElems: 2, BlockBytes: 1, Decode: func(dst []float32, src []byte) error {
		for i, b := range src {
			dst[2*i], dst[2*i+1] = float32(b>>4), float32(b&15)
		}
		return nil
	}}
	view := func(e *Encoding, shape Shape) View {
		return newView(&Info{Name: "w", Shape: shape, Size: 2, Encoding: e}, &owner{}, []byte{0x12, 0x34})
	}
	v := view(pairs, Shape{2, 2})
	single, err := Decode[float32](nil, v)
	double, err64 := Decode[float64](nil, v)
	if d := cmp.Diff([]float32{1, 2, 3, 4}, single); d != "" || err != nil || err64 != nil || double[3] != 4 || v.Len() != 4 {
		t.Errorf("%v, %v, %v, %d elements (-want +got)\n%s", err, err64, double, v.Len(), d)
	}
	if _, err := Decode[uint8](nil, v); !errors.Is(err, ErrDType) {
		t.Errorf("as uint8: %v", err)
	}
	for name, v := range map[string]View{
		"no decoder":          view(&Encoding{Name: "x", BlockElems: 1, BlockBytes: 1}, Shape{2}),
		"no known block":      view(&Encoding{Name: "x"}, Shape{1 << 60}),
		"no block, a decoder": view(&Encoding{Name: "x", Decode: pairs.Decode}, Shape{1 << 60}),
	} {
		if _, err := Decode[float32](nil, v); !errors.Is(err, ErrDType) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
