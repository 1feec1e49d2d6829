package tensor

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
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
			expect.OK(t, err)
			double, err := Decode[float64](nil, v)
			expect.OK(t, err)
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

// partKind is a kind of tensor, of any size.
type partKind struct {
	name string
	make func(r *rand.Rand) Info
}

// toyBlocks has blocks of 5 elements in 3 bytes: that of element i is the product of
// bytes i%3 and (i+1)%3, less i.
var toyBlocks = Encoding{Name: "TOY", BlockElems: 5, BlockBytes: 3, Decode: func(dst []float32, src []byte) error {
	if len(dst)%5 != 0 || len(src) != len(dst)/5*3 {
		return fmt.Errorf("%d elements of %d bytes", len(dst), len(src))
	}
	for i := range dst {
		b := src[i/5*3:]
		dst[i] = float32(b[i%5%3])*float32(b[(i%5+1)%3]) - float32(i%5)
	}
	return nil
}}

// decodedKinds are all dtypes, plain and quantized in every way, and blocks.
func decodedKinds() []partKind {
	var all []partKind
	for _, d := range allDTypes() {
		all = append(all, partKind{d.String(), func(r *rand.Rand) Info { return Info{DType: d, Shape: randShape(r)} }})
		if !d.isInteger() {
			continue
		}
		for _, scheme := range []Scheme{Linear, Logarithmic} {
			all = append(all, partKind{fmt.Sprint(d, " ", scheme), func(r *rand.Rand) Info {
				shape := randShape(r)
				q := &Quantization{Scheme: scheme, Axis: r.IntN(len(shape)+1) - 1, Scales: []float32{0.01}}
				if q.Axis >= 0 {
					q.Scales = make([]float32, shape[q.Axis])
					for i := range q.Scales {
						q.Scales[i] = r.Float32() / 64
					}
				}
				if n := []int{0, 1, len(q.Scales)}[r.IntN(3)]; n > 0 {
					q.ZeroPoints = make([]int32, n)
					for i := range q.ZeroPoints {
						q.ZeroPoints[i] = int32(r.IntN(200) - 100)
					}
				}
				return Info{DType: d, Shape: shape, Quant: q}
			}})
		}
	}
	return append(all, partKind{"blocks", func(r *rand.Rand) Info {
		return Info{Encoding: &toyBlocks, Shape: Shape{1 + r.Int64N(4), 5 * (1 + r.Int64N(9))}}
	}})
}

func randShape(r *rand.Rand) Shape {
	s := make(Shape, 1+r.IntN(3))
	for i := range s {
		s[i] = 1 + r.Int64N(13)
	}
	return s
}

// TestDecodeAt compares parts with the whole that Decode returns, of memory and behind
// a reader, as every Go type.
func TestDecodeAt(t *testing.T) {
	for _, kind := range decodedKinds() {
		t.Run(kind.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(20, 7))
			for range 30 {
				info := kind.make(r)
				info.Name = "w"
				info.Size, _ = info.ByteSize()
				data := randBytes(r, int(info.Size))
				inMemory, ranged := newView(&info, &owner{}, data), View(memory.New[Info](&info, &owner{mem: data, ranged: true}, nil))
				for _, v := range []View{inMemory, ranged} {
					compareParts[float32](t, r, v)
					compareParts[float64](t, r, v)
					compareParts[single](t, r, v)
					compareParts[int64](t, r, v)
					compareParts[uint16](t, r, v)
					compareParts[bits8](t, r, v)
					compareParts[complex64](t, r, v)
				}
			}
		})
	}
}

// compareParts compares a random part.
func compareParts[T Elem](t *testing.T, r *rand.Rand, v View) {
	t.Helper()
	want, err := Decode[T](nil, v)
	first := r.Int64N(v.Elems() + 1)
	got := make([]T, r.Int64N(v.Elems()-first+1))
	if at := DecodeAt(got, v, first); (at == nil) != (err == nil) || at != nil && !errors.Is(at, ErrDType) {
		t.Fatalf("%v: %v, Decode: %v", v, at, err)
	}
	if err != nil {
		return
	}
	want = want[first:][:len(got)]
	if !slices.EqualFunc(want, got, func(a, b T) bool { return a == b || a != a && b != b }) {
		t.Fatalf("%v as %T, quantization %+v, elements from %d on: %v, want %v", v, got, v.Info().Quant, first, got, want)
	}
}

// TestDecodeAtErrors: what is not there, in the order in which it is noticed.
func TestDecodeAtErrors(t *testing.T) {
	v, _ := Of("w", Shape{4}, []float32{1, 2, 3, 4})
	closed := newView(&Info{Name: "w", DType: Float32, Shape: Shape{4}, Size: 16}, &owner{closed: true}, make([]byte, 16))
	opaque, _ := FromInfo(Info{Name: "s", Shape: Shape{4}, Encoding: &Encoding{Name: "STRING"}}, []byte("text"))
	unsound, _ := FromInfo(Info{Name: "q", DType: Int8, Shape: Shape{4}, Quant: &Quantization{Axis: 1}}, []byte("text"))
	broken := View(memory.New[Info](&Info{Name: "w", DType: Float32, Shape: Shape{4}, Size: 16}, &owner{ranged: true, loadErr: ErrTruncated}, nil))
	for name, test := range map[string]struct {
		v     View
		n     int
		first int64
		want  error
	}{
		"all":                {v, 4, 0, nil},
		"none":               {v, 0, 4, nil},
		"before":             {v, 1, -1, ErrShape},
		"beyond":             {v, 0, 5, ErrShape},
		"one too many":       {v, 3, 2, ErrShape},
		"far":                {v, 1, 1<<63 - 1, ErrShape},
		"no tensor":          {View{}, 0, 0, ErrClosed},
		"closed":             {closed, 1, 0, ErrClosed},
		"closed and beyond":  {closed, 9, 0, ErrClosed},
		"of a failed slice":  {failed(t, v), 1, 0, ErrShape},
		"no numbers":         {opaque, 1, 0, ErrDType},
		"unsound parameters": {unsound, 1, 0, ErrQuantization},
		"cut short":          {broken, 2, 1, ErrTruncated},
	} {
		if err := DecodeAt(make([]float32, test.n), test.v, test.first); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	expect.Refused(t, ErrDType, "another type")(nil, DecodeAt(make([]int32, 1), v, 0))
	expect.Refused(t, io.ErrUnexpectedEOF, "cut short")(nil, DecodeAt(make([]float32, 2), broken, 1))
}

// TestDecodeAtReads: behind a reader the bytes of the elements are read, or those of the
// blocks they are in.
func TestDecodeAtReads(t *testing.T) {
	for name, test := range map[string]struct {
		info Info
		n    int
		at   int64
		want Range
	}{
		"float32":         {Info{DType: Float32, Shape: Shape{100}}, 3, 10, Range{40, 52}},
		"converted":       {Info{DType: Float16, Shape: Shape{100}}, 3, 10, Range{20, 26}},
		"within a block":  {Info{Encoding: &toyBlocks, Shape: Shape{100}}, 2, 11, Range{6, 9}},
		"through a block": {Info{Encoding: &toyBlocks, Shape: Shape{100}}, 7, 9, Range{3, 12}},
	} {
		o := &owner{ranged: true}
		test.info.Size, _ = test.info.ByteSize()
		o.mem = make([]byte, test.info.Size)
		if err := DecodeAt(make([]float32, test.n), View(memory.New[Info](&test.info, o, nil)), test.at); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(o.reads, []Range{test.want}) || o.loads != 0 {
			t.Errorf("%s: read %v, want %v", name, o.reads, test.want)
		}
	}
}

// TestDecodeAtAllocations: decoding memory does not allocate for any type.
func TestDecodeAtAllocations(t *testing.T) {
	if testhost.Race {
		t.Skip("the race detector drops what sync.Pool keeps")
	}
	r := rand.New(rand.NewPCG(20, 8))
	for _, kind := range decodedKinds() {
		info := kind.make(r)
		info.Size, _ = info.ByteSize()
		v := newView(&info, &owner{}, randBytes(r, int(info.Size)))
		first := min(3, v.Elems())
		single, double := make([]float32, v.Elems()-first), make([]float64, v.Elems()-first)
		n := testing.AllocsPerRun(100, func() {
			if info.DType != Complex64 && (DecodeAt(single, v, first) != nil || DecodeAt(double, v, first) != nil) {
				t.Error("DecodeAt fails")
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", kind.name, n)
		}
	}
}

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
		func(f float64) uint16 { return uint16(F16From(vector.TowardOdd(f))) }},
	{"bfloat16", 7, -126, 127,
		func(b uint16) float32 { return BF16(b).Float32() },
		func(f float32) uint16 { return uint16(BF16From(f)) },
		func(f float64) uint16 { return uint16(BF16From(vector.TowardOdd(f))) }},
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
			d := math.Float64frombits(uint64(tt.bits)&(1<<31)<<32 | 0x7ff<<52 | uint64(tt.bits)&(1<<23-1)<<29)
			if got := uint16(F16From(vector.TowardOdd(d))); got != tt.half {
				t.Errorf("float16 from float64 = %#04x, want %#04x", got, tt.half)
			}
			if got := uint16(BF16From(vector.TowardOdd(d))); got != tt.brain {
				t.Errorf("bfloat16 from float64 = %#04x, want %#04x", got, tt.brain)
			}
		})
	}
	low := math.Float64frombits(0x7ff<<52 | 1)
	if h, b := F16From(vector.TowardOdd(low)), BF16From(vector.TowardOdd(low)); h != 0x7e00 || b != 0x7fc0 {
		t.Errorf("lowest payload of a float64 = %#04x, %#04x", h, b)
	}
}
