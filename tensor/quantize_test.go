package tensor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/internal/expect"
)

func TestQuantizeValues(t *testing.T) {
	for _, tt := range []struct {
		name string
		src  []float32
		sh   Shape
		o    QuantizeOptions
		data []byte
		q    *Quantization
	}{
		{"symmetric int8, ties to even", []float32{-127, 0.5, 1.5, 2.5, -0.5, -1.5, 127}, Shape{7}, QuantizeOptions{},
			[]byte{0x81, 0, 2, 2, 0, 0xfe, 127},
			&Quantization{Scales: []float32{1}, Axis: PerTensor}},
		{"symmetric uint8", []float32{-127, 0, 1, 127}, Shape{2, 2}, QuantizeOptions{DType: Uint8},
			[]byte{1, 128, 129, 255},
			&Quantization{Scales: []float32{1}, ZeroPoints: []int32{128}, Axis: PerTensor}},
		{"asymmetric uint8", []float32{-55, 0, 200}, Shape{3}, QuantizeOptions{DType: Uint8, Asymmetric: true},
			[]byte{0, 55, 255},
			&Quantization{Scales: []float32{1}, ZeroPoints: []int32{55}, Axis: PerTensor}},
		{"asymmetric int8, positive only", []float32{51, 510}, Shape{2}, QuantizeOptions{DType: Int8, Asymmetric: true},
			[]byte{0x9a, 127}, // 25.5 is a tie: 26 - 128
			&Quantization{Scales: []float32{2}, ZeroPoints: []int32{-128}, Axis: PerTensor}},
		{"asymmetric int16, negative only", []float32{-65535, -1}, Shape{2}, QuantizeOptions{DType: Int16, Asymmetric: true},
			[]byte{0x00, 0x80, 0xfe, 0x7f},
			&Quantization{Scales: []float32{1}, ZeroPoints: []int32{32767}, Axis: PerTensor}},
		{"per channel, middle axis", []float32{127, 1, 254, 4, -127, 3, 8, 6}, Shape{2, 2, 2}, QuantizeOptions{PerChannel: true, Axis: 1},
			[]byte{127, 1, 127, 2, 0x81, 3, 4, 3},
			&Quantization{Scales: []float32{1, 2}, Axis: 1}},
		{"per channel, asymmetric", []float32{0, 255, -510, 0}, Shape{2, 2}, QuantizeOptions{DType: Uint8, PerChannel: true, Asymmetric: true},
			[]byte{0, 255, 0, 255},
			&Quantization{Scales: []float32{1, 2}, ZeroPoints: []int32{0, 255}, Axis: 0}},
		{"scalar", []float32{-254}, Shape{}, QuantizeOptions{},
			[]byte{0x81},
			&Quantization{Scales: []float32{2}, Axis: PerTensor}},
		{"all zero", []float32{0, float32(math.Copysign(0, -1)), 0}, Shape{3}, QuantizeOptions{Asymmetric: true},
			[]byte{0x80, 0x80, 0x80},
			&Quantization{Scales: []float32{1}, ZeroPoints: []int32{-128}, Axis: PerTensor}},
		{"empty", nil, Shape{0, 3}, QuantizeOptions{PerChannel: true, Axis: 1},
			[]byte{},
			&Quantization{Scales: []float32{1, 1, 1}, Axis: 1}},
		{"empty without channels", nil, Shape{0, 3}, QuantizeOptions{PerChannel: true},
			[]byte{},
			&Quantization{Scales: []float32{}, Axis: 0}},
		{"float16", []float32{1, -2, 65504}, Shape{3}, QuantizeOptions{DType: Float16, PerChannel: true, Axis: 9},
			[]byte{0x00, 0x3c, 0x00, 0xc0, 0xff, 0x7b},
			nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, q, _, err := Quantize(tt.src, tt.sh, tt.o)
			expect.OK(t, err)
			equal(t, "data", tt.data, data)
			equal(t, "parameters", tt.q, q)
		})
	}
}

func TestQuantizeErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tt := range []struct {
		name string
		src  []float32
		sh   Shape
		o    QuantizeOptions
		want error
		text string
	}{
		{"NaN", []float32{1, nan}, Shape{2}, QuantizeOptions{}, ErrQuantization, "element 1 is NaN"},
		{"Inf", []float32{inf, 0}, Shape{2}, QuantizeOptions{DType: Int16}, ErrQuantization, "element 0 is +Inf"},
		{"-Inf", []float32{0, -inf}, Shape{1, 2}, QuantizeOptions{PerChannel: true, Axis: 1}, ErrQuantization, "element 1 is -Inf"},
		{"too few", []float32{1}, Shape{2}, QuantizeOptions{}, ErrShape, "1 elements for [2]"},
		{"too few for float16", []float32{1}, Shape{2}, QuantizeOptions{DType: Float16}, ErrShape, "1 elements for [2]"},
		{"negative dim", nil, Shape{-1}, QuantizeOptions{}, ErrShape, ""},
		{"axis too large", []float32{1}, Shape{1}, QuantizeOptions{PerChannel: true, Axis: 1}, ErrQuantization, "axis 1 of a tensor of rank 1"},
		{"axis negative", []float32{1}, Shape{1}, QuantizeOptions{PerChannel: true, Axis: -1}, ErrQuantization, "axis -1"},
		{"channel of a scalar", []float32{1}, nil, QuantizeOptions{PerChannel: true}, ErrQuantization, "axis 0 of a tensor of rank 0"},
		{"channels without elements", nil, Shape{0, 1 << 40}, QuantizeOptions{PerChannel: true, Axis: 1}, ErrQuantization, "1099511627776 channels"},
		{"dtype", []float32{1}, Shape{1}, QuantizeOptions{DType: Uint64}, ErrDType, "uint64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, _, err := Quantize(tt.src, tt.sh, tt.o)
			checkErr(t, err, tt.want, tt.text)
		})
	}
}

// TestQuantizeExtremes quantizes where scales would overflow or vanish.
func TestQuantizeExtremes(t *testing.T) {
	const big, tiny = math.MaxFloat32, math.SmallestNonzeroFloat32
	for _, tt := range []struct {
		name string
		src  []float32
	}{
		{"smallest", []float32{tiny, -tiny, 0}},
		{"subnormal between scales", []float32{180 * tiny, -tiny, 3 * tiny}},
		{"largest", []float32{big, -big, 0}},
		{"largest positive", []float32{big, -1, 1}},
		{"largest negative", []float32{-big, big / 3, 0}},
		{"largest uneven", []float32{-big / 5, big, big * 0.999}},
		{"both", []float32{big, tiny}},
	} {
		for _, o := range []QuantizeOptions{{}, {Asymmetric: true}, {DType: Int16}, {DType: Int16, Asymmetric: true}, {DType: Uint8, Asymmetric: true}} {
			t.Run(tt.name, func(t *testing.T) {
				data, q, stats, err := Quantize(tt.src, Shape{int64(len(tt.src))}, o)
				expect.OK(t, err)
				got := make([]float32, len(tt.src))
				dt := o.DType
				if dt == Invalid {
					dt = Int8
				}
				expect.OK(t, Dequantize(got, data, dt, Shape{int64(len(tt.src))}, q))
				s := float64(q.Scales[0])
				if !(s > 0 && s <= big) {
					t.Fatalf("scale %v", s)
				}
				for i, x := range tt.src {
					// One whole step where the outermost integer has to stay unused.
					if d := math.Abs(float64(x) - float64(got[i])); d > s*1.001 || math.IsInf(float64(got[i]), 0) {
						t.Errorf("%+v: %v came back as %v, scale %v", o, x, got[i], s)
					}
				}
				if math.IsNaN(stats.SNR) || math.IsNaN(stats.MeanAbs) {
					t.Errorf("stats %+v", stats)
				}
			})
		}
	}
}

func checkErr(t *testing.T, err, want error, text string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("error %q does not say %q", err, text)
	}
}

// TestQuantizationEqual compares what parameters stand for.
func TestQuantizationEqual(t *testing.T) {
	nan := float32(math.NaN())
	base := func() *Quantization {
		return &Quantization{Axis: 0, Scales: []float32{1, nan}, ZeroPoints: []int32{2, 2}}
	}
	for _, c := range []struct {
		name   string
		change func(q *Quantization)
		want   bool
	}{
		{"same", func(*Quantization) {}, true},
		{"one zero point for all", func(q *Quantization) { q.ZeroPoints = []int32{2} }, true},
		{"another one for all", func(q *Quantization) { q.ZeroPoints = []int32{1} }, false},
		{"no zero points", func(q *Quantization) { q.ZeroPoints = nil }, false},
		{"scheme", func(q *Quantization) { q.Scheme = Logarithmic }, false},
		{"axis", func(q *Quantization) { q.Axis = 1 }, false},
		{"scale", func(q *Quantization) { q.Scales[0] = -1 }, false},
		{"fewer scales", func(q *Quantization) { q.Scales = q.Scales[:1] }, false},
	} {
		other := base()
		c.change(other)
		if base().Equal(other) != c.want || other.Equal(base()) != c.want {
			t.Errorf("%s: not %v", c.name, c.want)
		}
	}
	var none *Quantization
	if !none.Equal(nil) || none.Equal(base()) || base().Equal(nil) {
		t.Error("nil")
	}
	if !(&Quantization{Scales: []float32{1}}).Equal(&Quantization{Scales: []float32{1}, ZeroPoints: []int32{0}}) {
		t.Error("a missing zero point is not 0")
	}
}

// near allows for sums that are rounded differently.
func near(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

func TestQuantizeStats(t *testing.T) {
	_, _, got, err := Quantize([]float32{127, -2.25, 0.25, 0}, Shape{4}, QuantizeOptions{})
	want := QuantStats{MaxAbs: 0.25, MeanAbs: 0.125, SNR: 10 * math.Log10((127*127+2.25*2.25+0.25*0.25)/0.125), Nonzero: 3, Zeroed: 1}
	if d := cmp.Diff(want, got, cmp.Comparer(near)); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
}

func TestDequantize(t *testing.T) {
	one := &Quantization{Scales: []float32{0.5}, ZeroPoints: []int32{-2}, Axis: PerTensor}
	plain := &Quantization{Scales: []float32{2}, Axis: PerTensor}
	lg := &Quantization{Scheme: Logarithmic, Scales: []float32{0.5}, ZeroPoints: []int32{1}, Axis: PerTensor}
	for _, tt := range []struct {
		name  string
		dt    DType
		shape Shape
		data  []byte
		q     *Quantization
		want  []float32
	}{
		{"int8", Int8, Shape{3}, []byte{0x80, 0xfe, 0x7f}, one, []float32{-63, 0, 64.5}},
		{"uint8", Uint8, Shape{2}, []byte{0, 255}, one, []float32{1, 128.5}},
		{"int16", Int16, Shape{2}, le([]uint16{0x8000, 0x7fff}), one, []float32{-16383, 16384.5}},
		{"uint16", Uint16, Shape{2}, le([]uint16{0, 0xffff}), one, []float32{1, 32768.5}},
		{"int32", Int32, Shape{2}, le([]uint32{0x80000000, 0x7fffffff}), one, []float32{-0x1p30 + 1, 0x1p30}},
		{"uint32", Uint32, Shape{2}, le([]uint32{0, 0xffffffff}), one, []float32{1, 0x1p31}},
		{"int64", Int64, Shape{3}, le([]uint64{1 << 63, 1<<63 - 1, 4}), one, []float32{-0x1p62, 0x1p62, 3}},
		{"uint64", Uint64, Shape{3}, le([]uint64{0, 1<<64 - 1, 8}), one, []float32{1, 0x1p63, 5}},
		{"difference beyond 32 bits", Int32, Shape{1}, le([]uint32{0x80000000}),
			&Quantization{Scales: []float32{1}, ZeroPoints: []int32{math.MaxInt32}, Axis: PerTensor}, []float32{-0x1p32}},
		{"difference beyond 64 bits", Int64, Shape{2}, le([]uint64{1 << 63, 1<<63 - 1}),
			&Quantization{Scales: []float32{1}, ZeroPoints: []int32{math.MaxInt32}, Axis: PerTensor}, []float32{-0x1p63, 0x1p63}},
		{"difference beyond 64 bits, negative zero point", Int64, Shape{1}, le([]uint64{1<<63 - 1}),
			&Quantization{Scales: []float32{1}, ZeroPoints: []int32{math.MinInt32}, Axis: PerTensor}, []float32{0x1p63}},
		{"no zero point", Int8, Shape{2}, []byte{1, 0xff}, plain, []float32{2, -2}},
		{"scalar", Int8, nil, []byte{5}, plain, []float32{10}},
		{"empty", Int8, Shape{0}, nil, plain, nil},
		{"axis 0", Int8, Shape{2, 2}, []byte{1, 2, 3, 4},
			&Quantization{Scales: []float32{1, 10}, ZeroPoints: []int32{0, 1}, Axis: 0}, []float32{1, 2, 20, 30}},
		{"axis 1 of 3", Int16, Shape{2, 2, 2}, le([]uint16{1, 2, 3, 4, 5, 6, 7, 8}),
			&Quantization{Scales: []float32{1, 10}, Axis: 1}, []float32{1, 2, 30, 40, 5, 6, 70, 80}},
		{"last axis, one zero point for all", Uint8, Shape{2, 3}, []byte{1, 2, 3, 4, 5, 6},
			&Quantization{Scales: []float32{1, 10, 100}, ZeroPoints: []int32{1}, Axis: 1}, []float32{0, 10, 200, 3, 40, 500}},
		{"empty with channels", Int8, Shape{2, 0}, nil,
			&Quantization{Scales: []float32{1, 10}, Axis: 0}, nil},
		{"empty without channels", Int8, Shape{2, 0}, nil,
			&Quantization{ZeroPoints: []int32{3}, Axis: 1}, nil},
		{"logarithmic", Int8, Shape{5}, []byte{1, 3, 0xff, 5, 0xfd}, lg, []float32{0, 1, -1, 3, -3}},
		{"logarithmic uint8", Uint8, Shape{2}, []byte{0, 9}, lg, []float32{1 - math.Sqrt2, 15}},
		{"logarithmic int64", Int64, Shape{2}, le([]uint64{7, 1 << 63}), lg, []float32{7, float32(math.Inf(-1))}},
		{"logarithmic per channel", Int8, Shape{2, 2}, []byte{2, 2, 0xfe, 0xfe},
			&Quantization{Scheme: Logarithmic, Scales: []float32{1, 2}, Axis: 1}, []float32{3, 15, -3, -15}},
		{"logarithmic zero under any scale", Int8, Shape{1}, []byte{0},
			&Quantization{Scheme: Logarithmic, Scales: []float32{float32(math.Inf(1))}, Axis: PerTensor}, []float32{0}},
		{"negative scale", Int8, Shape{1}, []byte{3}, &Quantization{Scales: []float32{-2}, Axis: PerTensor}, []float32{-6}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := make([]float32, len(tt.want))
			expect.OK(t, Dequantize(got, tt.data, tt.dt, tt.shape, tt.q))
			equal(t, "", tt.want, got, cmpopts.EquateEmpty())
		})
	}
}

func TestDequantizeErrors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		n     int
		dt    DType
		shape Shape
		data  []byte
		q     *Quantization
		want  error
		text  string
	}{
		{"no parameters", 1, Int8, Shape{1}, []byte{1}, nil, ErrQuantization, "none"},
		{"no scale", 1, Int8, Shape{1}, []byte{1}, &Quantization{Axis: PerTensor}, ErrQuantization, "0 scales for 1 channels"},
		{"two scales for a tensor", 1, Int8, Shape{1}, []byte{1}, &Quantization{Scales: []float32{1, 1}, Axis: PerTensor}, ErrQuantization, "2 scales for 1 channels"},
		{"one scale for two channels", 2, Int8, Shape{2}, []byte{1, 1}, &Quantization{Scales: []float32{1}}, ErrQuantization, "1 scales for 2 channels"},
		{"zero points", 3, Int8, Shape{3}, []byte{1, 1, 1}, &Quantization{Scales: []float32{1, 2, 3}, ZeroPoints: []int32{1, 2}}, ErrQuantization, "2 zero points for 3 scales"},
		{"axis too large", 1, Int8, Shape{1}, []byte{1}, &Quantization{Scales: []float32{1}, Axis: 1}, ErrQuantization, "axis 1"},
		{"axis negative", 1, Int8, Shape{1}, []byte{1}, &Quantization{Scales: []float32{1}, Axis: -2}, ErrQuantization, "axis -2"},
		{"axis of a scalar", 1, Int8, nil, []byte{1}, &Quantization{Scales: []float32{1}}, ErrQuantization, "axis 0"},
		{"scheme", 1, Int8, Shape{1}, []byte{1}, &Quantization{Scheme: 2, Scales: []float32{1}, Axis: PerTensor}, ErrQuantization, "scheme 2"},
		{"empty, wrong scales", 0, Int8, Shape{0, 2}, nil, &Quantization{Scales: []float32{1}, Axis: 1}, ErrQuantization, "1 scales for 2 channels"},
		{"empty, many channels", 0, Int8, Shape{0, 1 << 40}, nil, &Quantization{Scales: []float32{1}, Axis: 1}, ErrQuantization, "channels"},
		{"float elements", 1, Float32, Shape{1}, le([]uint32{0}), &Quantization{Scales: []float32{1}, Axis: PerTensor}, ErrQuantization, "float32"},
		{"bool elements", 1, Bool, Shape{1}, []byte{1}, &Quantization{Scales: []float32{1}, Axis: PerTensor}, ErrQuantization, "bool"},
		{"short destination", 1, Int8, Shape{2}, []byte{1, 2}, &Quantization{Scales: []float32{1}, Axis: PerTensor}, ErrShape, "1 elements for [2]"},
		{"short data", 2, Int16, Shape{2}, []byte{1, 2, 3}, &Quantization{Scales: []float32{1}, Axis: PerTensor}, ErrShape, "3 bytes"},
		{"shape overflow", 0, Int8, Shape{1 << 62, 4, 0}, nil, &Quantization{Scales: []float32{1}, Axis: PerTensor}, ErrShape, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkErr(t, Dequantize(make([]float32, tt.n), tt.data, tt.dt, tt.shape, tt.q), tt.want, tt.text)
			// What is wrong with the parameters themselves is known without data.
			if err := tt.q.Check(tt.dt, tt.shape); errors.Is(err, ErrQuantization) != (tt.want == ErrQuantization) {
				t.Errorf("Check = %v", err)
			}
		})
	}
}

// TestQuantizerPieces: pieces of any size give what the whole gives.
func TestQuantizerPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shape := range []Shape{{}, {0, 3}, {1}, {257}, {4, 5, 7}, {3, 1, 2, 11}, {64, 3}} {
		n, err := shape.Elems()
		expect.OK(t, err)
		src := make([]float32, n)
		for i := range src {
			src[i] = float32(rng.NormFloat64())
		}
		for _, d := range []DType{Int8, Uint8, Int16, Float16} {
			for axis := -1; axis < len(shape); axis++ {
				o := QuantizeOptions{DType: d, PerChannel: axis >= 0, Axis: axis, Asymmetric: rng.IntN(2) == 0}
				data, q, stats, err := Quantize(src, shape, o)
				expect.OK(t, err)
				for _, piece := range []int{1, 2, 5, 16, 1000} {
					got, params, sums := inPieces(t, src, shape, o, piece)
					what := fmt.Sprintf("%v %+v in pieces of %d", shape, o, piece)
					equal(t, what, data, got)
					equal(t, what, q, params)
					equal(t, what, stats, sums)
				}
			}
		}
	}
}

func inPieces(t *testing.T, src []float32, shape Shape, o QuantizeOptions, piece int) ([]byte, *Quantization, QuantStats) {
	t.Helper()
	z, err := NewQuantizer(shape, o)
	expect.OK(t, err)
	each := func(f func(from, to int) error) {
		for i := 0; i < len(src); i += piece {
			expect.OK(t, f(i, min(i+piece, len(src))))
		}
	}
	each(func(from, to int) error { return z.Observe(src[from:to]) })
	q, err := z.Parameters()
	expect.OK(t, err)
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
			expect.OK(t, err)
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
	expect.Refused(t, ErrDType, "int8")(nil, Encode(make([]byte, 1), Int8, []float32{1}))
	for _, n := range []int{3, 5, 8} {
		expect.Refused(t, ErrShape, n, "bytes")(nil, Encode(make([]byte, n), Float32, []float32{1}))
	}
}

// FuzzDequantize gives parameters as a hostile file may: whatever they are,
// there is an error or as many numbers as elements.
func FuzzDequantize(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4}, uint8(Int8), uint8(0), int64(2), int64(2), 1, 2, 1)
	f.Add([]byte{1, 2, 3, 4}, uint8(Uint16), uint8(1), int64(2), int64(1), PerTensor, 1, 0)
	f.Add([]byte{}, uint8(Int64), uint8(0), int64(0), int64(1<<62), 1, 1, 1)
	f.Add([]byte{0xff}, uint8(Float32), uint8(9), int64(-1), int64(1), 7, 0, 3)
	f.Fuzz(func(t *testing.T, data []byte, dt, scheme uint8, d0, d1 int64, axis, scales, zeros int) {
		shape := Shape{d0, d1}
		n, err := shape.Elems()
		if err != nil || n > 1<<12 || scales < 0 || scales > 1<<12 || zeros < 0 || zeros > 1<<12 {
			return
		}
		q := &Quantization{Scheme: Scheme(scheme), Axis: axis, Scales: make([]float32, scales), ZeroPoints: make([]int32, zeros)}
		for i := range q.Scales {
			if i+4 <= len(data) {
				q.Scales[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[i:]))
			}
		}
		for i := range q.ZeroPoints {
			if i+4 <= len(data) {
				q.ZeroPoints[i] = int32(binary.LittleEndian.Uint32(data[i:]))
			}
		}
		err = Dequantize(make([]float32, n), data, DType(dt), shape, q)
		if err == nil && int64(len(data)) != n*DType(dt).Size() {
			t.Fatalf("%d bytes taken for %v of %v", len(data), shape, DType(dt))
		}
	})
}
