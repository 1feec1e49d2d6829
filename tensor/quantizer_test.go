package tensor

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQuantizerPieces: pieces of any size give what the whole gives.
func TestQuantizerPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shape := range []Shape{{}, {0, 3}, {1}, {257}, {4, 5, 7}, {3, 1, 2, 11}, {64, 3}} {
		n, err := shape.Elems()
		must(t, err)
		src := make([]float32, n)
		for i := range src {
			src[i] = float32(rng.NormFloat64())
		}
		for _, d := range []DType{Int8, Uint8, Int16, Float16} {
			for axis := -1; axis < len(shape); axis++ {
				o := QuantizeOptions{DType: d, PerChannel: axis >= 0, Axis: axis, Asymmetric: rng.IntN(2) == 0}
				data, q, stats, err := Quantize(src, shape, o)
				must(t, err)
				for _, piece := range []int{1, 2, 5, 16, 1000} {
					got, params, sums := inPieces(t, src, shape, o, piece)
					if diff := cmp.Diff(data, got); diff != "" {
						t.Errorf("%v %+v in pieces of %d: %s", shape, o, piece, diff)
					}
					if diff := cmp.Diff(q, params); diff != "" {
						t.Errorf("%v %+v in pieces of %d: %s", shape, o, piece, diff)
					}
					if diff := cmp.Diff(stats, sums); diff != "" {
						t.Errorf("%v %+v in pieces of %d: %s", shape, o, piece, diff)
					}
				}
			}
		}
	}
}

func inPieces(t *testing.T, src []float32, shape Shape, o QuantizeOptions, piece int) ([]byte, *Quantization, QuantStats) {
	t.Helper()
	z, err := NewQuantizer(shape, o)
	must(t, err)
	each := func(f func(from, to int) error) {
		for i := 0; i < len(src); i += piece {
			must(t, f(i, min(i+piece, len(src))))
		}
	}
	each(func(from, to int) error { return z.Observe(src[from:to]) })
	q, err := z.Parameters()
	must(t, err)
	size := int(o.DType.Size())
	data := make([]byte, len(src)*size)
	each(func(from, to int) error { return z.Encode(data[from*size:to*size], src[from:to]) })
	return data, q, z.Stats()
}

func TestQuantizerErrors(t *testing.T) {
	four := make([]float32, 4)
	nan := []float32{0, float32(math.NaN())}
	for _, tt := range []struct {
		name string
		o    QuantizeOptions
		do   func(z *Quantizer) error
		want error
		text string
	}{
		{"too many observed", QuantizeOptions{}, func(z *Quantizer) error { return errors.Join(z.Observe(four), z.Observe(four[:1])) }, ErrShape, "1 elements after 4 of 4"},
		{"parameters too early", QuantizeOptions{}, func(z *Quantizer) error { _, err := z.Parameters(); return errors.Join(z.Observe(four[:3]), err) }, ErrShape, "0 of 4"},
		{"no parameters", QuantizeOptions{}, func(z *Quantizer) error { return z.Encode(make([]byte, 4), four) }, ErrQuantization, "no parameters yet"},
		{"not a number, counted from the start", QuantizeOptions{}, func(z *Quantizer) error { return errors.Join(z.Observe(four[:2]), z.Observe(nan)) }, ErrQuantization, "element 3 is NaN"},
		{"buffer of another size", QuantizeOptions{DType: Int16}, func(z *Quantizer) error {
			err := z.Observe(four)
			_, perr := z.Parameters()
			return errors.Join(err, perr, z.Encode(make([]byte, 7), four))
		}, ErrShape, "7 bytes for 4 elements"},
		{"too many encoded", QuantizeOptions{}, func(z *Quantizer) error {
			err := z.Observe(four)
			_, perr := z.Parameters()
			return errors.Join(err, perr, z.Encode(make([]byte, 4), four), z.Encode(make([]byte, 1), four[:1]))
		}, ErrShape, "1 elements after 4 of 4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			z, err := NewQuantizer(Shape{2, 2}, tt.o)
			must(t, err)
			if err := tt.do(z); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, want %v: %s", err, tt.want, tt.text)
			}
		})
	}
	// Channels that a shape claims take no memory before their elements are there.
	if _, _, _, err := Quantize(four, Shape{1 << 50}, QuantizeOptions{PerChannel: true}); !errors.Is(err, ErrShape) {
		t.Errorf("many channels: %v", err)
	}
	var zero Quantizer
	_, err := zero.Parameters()
	if err = errors.Join(err, zero.Encode(nil, nil)); !errors.Is(err, ErrQuantization) {
		t.Errorf("the zero Quantizer: %v", err)
	}
}

func TestEncode(t *testing.T) {
	// 1 + 2^-11 + 2^-40 is above the tie of two float16: rounded to float32 first
	// it would be at the tie, and go down.
	tie := 1 + math.Ldexp(1, -11) + math.Ldexp(1, -40)
	for _, tt := range []struct {
		name string
		d    DType
		src  any
		want []byte
	}{
		{"float64 from float32", Float64, []float32{1.5}, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}},
		{"float32 as it is", Float32, []float32{1, -2}, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
		{"float16", Float16, []float32{1, 65504}, []byte{0, 0x3c, 0xff, 0x7b}},
		{"bfloat16", BFloat16, []float32{1, -2}, []byte{0x80, 0x3f, 0, 0xc0}},
		{"float64 as it is", Float64, []float64{1.5}, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}},
		{"float32 from float64", Float32, []float64{1}, []byte{0, 0, 0x80, 0x3f}},
		{"float16 rounded once", Float16, []float64{tie}, []byte{1, 0x3c}},
		{"bfloat16 from float64", BFloat16, []float64{1, -2}, []byte{0x80, 0x3f, 0, 0xc0}},
		{"nothing", Float16, []float32(nil), []byte{}},
	} {
		got := make([]byte, len(tt.want))
		var err error
		switch src := tt.src.(type) {
		case []float32:
			err = Encode(got, tt.d, src)
		case []float64:
			err = Encode(got, tt.d, src)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", tt.name, err, diff)
		}
	}
	if err := Encode(make([]byte, 1), Int8, []float32{1}); !errors.Is(err, ErrDType) {
		t.Errorf("int8: %v", err)
	}
	for _, n := range []int{3, 5, 8} {
		if err := Encode(make([]byte, n), Float32, []float32{1}); !errors.Is(err, ErrShape) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
