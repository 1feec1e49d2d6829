package vector

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
)

// specials are numbers at the limits of float32, of both signs.
func specials() (all []float32) {
	for _, bits := range []uint32{0, 1, 2, 0x7fffff, 0x800000, 0x3f000000, 0x3f800000, 0x4b000000, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x7f800001} {
		all = append(all, math.Float32frombits(bits), math.Float32frombits(bits|sign32))
	}
	return all
}

// compareRange compares the bits of what Range and its Go version return.
func compareRange(t *testing.T, src []float32, lo, hi float32) {
	t.Helper()
	type result struct {
		Lo, Hi uint32
		Finite bool
	}
	of := func(lo, hi float32, finite bool) result {
		if !finite {
			return result{}
		}
		return result{math.Float32bits(lo), math.Float32bits(hi), true}
	}
	var want result
	plainly(func() { want = of(Range(src, lo, hi)) })
	got := of(Range(src, lo, hi))
	if got != want {
		t.Fatalf("%d numbers, from %g to %g: %s", len(src), lo, hi, cmp.Diff(want, got))
	}
}

// compareRangeRow compares the bits of what RangeRow and its Go version leave.
func compareRangeRow(t *testing.T, rows ...[]float32) {
	t.Helper()
	n := len(rows[0])
	got, want := make([]float32, 2*n), make([]float32, 2*n)
	for _, row := range rows {
		var finite bool
		plainly(func() { finite = RangeRow(row, want[:n], want[n:]) })
		if RangeRow(row, got[:n], got[n:]) != finite {
			t.Fatalf("%v: finite is not %v", row, finite)
		}
		if !finite {
			return
		}
	}
	if !bytes.Equal(memory.BytesOf(got), memory.BytesOf(want)) {
		t.Fatalf("%v: %v, want %v", rows, got, want)
	}
}

// TestRangeRow compares rows of all widths to a few steps, with each special number at each place.
func TestRangeRow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for n := range 70 {
		rows := make([][]float32, 4)
		for i := range rows {
			for range n {
				rows[i] = append(rows[i], float32(r.NormFloat64()))
			}
		}
		compareRangeRow(t, rows...)
		for i, x := range rows[3] {
			for _, s := range specials() {
				rows[3][i] = s
				compareRangeRow(t, rows...)
				compareRangeRow(t, rows[3])
			}
			rows[3][i] = x
		}
	}
}

// TestRange compares at all lengths to a few steps, with each special number at each place,
// and over several blocks.
func TestRange(t *testing.T) {
	for n := range 100 {
		src := make([]float32, n)
		for i := range src {
			src[i] = float32(n-i) / 3 * float32(1-2*(i%2))
		}
		compareRange(t, src, 0, 0)
		compareRange(t, src, -20, 30)
		for i, x := range src {
			for _, s := range specials() {
				src[i] = s
				compareRange(t, src, 0, 0)
			}
			src[i] = x
		}
	}
	negative := make([]float32, 64)
	for i := range negative {
		negative[i] = float32(math.Copysign(0, -1))
	}
	compareRange(t, negative, 0, 0)
	large := make([]float32, 3*block+5)
	for _, i := range []int{0, block - 1, block, 3*block - 1, 3*block + 4} {
		for _, x := range []float32{-1, 1, float32(math.Inf(-1)), float32(math.NaN())} {
			large[i] = x
			compareRange(t, large, 0, 0)
			large[i] = 0
		}
	}
}

// compareBytes compares what a routine and its Go version write for numbers; nothing may be written behind it.
func compareBytes(t *testing.T, src []float32, what any, routine, plain func(dst []byte)) {
	t.Helper()
	got, want := make([]byte, len(src)+1), make([]byte, len(src)+1)
	routine(got[:len(src)])
	plain(want[:len(src)])
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%+v, byte %d of %d: %d, want %d", what, i, len(src), got[i], want[i])
		}
	}
}

// compareSteps compares Quantize with its Go version, and that with the definition.
func compareSteps(t *testing.T, src []float32, scale float32, s Steps) {
	t.Helper()
	compareBytes(t, src, s, func(dst []byte) { Quantize(dst, src, &s) }, func(dst []byte) { plainly(func() { Quantize(dst, src, &s) }) })
	for _, x := range src {
		quotient := math.RoundToEven(float64(x) / float64(scale))
		if got, want := s.Integer(x), int32(min(max(quotient, s.Lo), s.Hi)+s.Zero); got != want && x == x {
			t.Fatalf("%g, %+v: %g is %d, want %d", scale, s, x, got, want)
		}
	}
}

// steps returns those of a scale for int8 and uint8, symmetric and not, and for int16.
func steps(scale float32) []Steps {
	i := 1 / float64(scale)
	return []Steps{{i, -127, 127, 0}, {i, -127, 127, 128}, {i, -128 + 37, 127 + 37, -37}, {i, -200, 55, 200}, {i, -32767, 32767, 0}}
}

// compareRows compares QuantizeRow with its Go version, with steps by turns.
func compareRows(t *testing.T, src []float32, all []Steps) {
	t.Helper()
	columns := make([]Steps, len(src))
	for i := range columns {
		columns[i] = all[i%len(all)]
	}
	compareBytes(t, src, columns, func(dst []byte) { QuantizeRow(dst, src, columns) }, func(dst []byte) { plainly(func() { QuantizeRow(dst, src, columns) }) })
}

// TestQuantize compares numbers at and next to those halfway between two integers, for scales
// of all magnitudes.
func TestQuantize(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	scales := []float32{1, 0.5, 1.0 / 3, 0.1, math.SmallestNonzeroFloat32, 3 * math.SmallestNonzeroFloat32, 0x1p-126, math.MaxFloat32, math.MaxFloat32 / 127}
	for range 2000 {
		scales = append(scales, math.Float32frombits(r.Uint32()%0x7f800000|1))
	}
	for _, scale := range scales {
		src := specials()
		for k := -260; k <= 260; k++ {
			k := float64(k)
			if math.Abs(k) > 250 {
				k *= 120 // of int16
			}
			x := float32((k + 0.5) * float64(scale))
			src = append(src, x, math.Nextafter32(x, math.MaxFloat32), math.Nextafter32(x, -math.MaxFloat32), float32(r.NormFloat64()*50)*scale)
		}
		for _, s := range steps(scale) {
			compareSteps(t, src, scale, s)
		}
		if !testhost.Nightly() && scale == scales[200] {
			break
		}
	}
	src := make([]float32, 2*block+17)
	for i := range src {
		src[i] = float32(r.NormFloat64())
	}
	for n := range 100 {
		compareSteps(t, src[:n], 0.02, steps(0.02)[0])
		compareRows(t, src[:n], append(steps(0.02), steps(0.3)...))
	}
	compareRows(t, src, append(steps(0.02), steps(0.3)...))
	compareRows(t, specials(), append(steps(0.02), steps(math.MaxFloat32)...))
	compareSteps(t, src, 0.02, steps(0.02)[2])
}

// compareErrors compares what Add and its Go version make of numbers from number at on, all at once
// and in pieces of one size.
func compareErrors(t *testing.T, numbers, stand []float32, at, piece int) {
	t.Helper()
	var want, whole, pieces Errors
	want.plain(numbers, stand, at)
	whole.Add(numbers, stand, at)
	for i := 0; i < len(numbers); i += piece {
		end := min(i+piece, len(numbers))
		pieces.Add(numbers[i:end], stand[i:end], at+i)
	}
	same := cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b })
	for _, got := range []Errors{whole, pieces} {
		if diff := cmp.Diff(want, got, same, cmp.AllowUnexported(Errors{})); diff != "" {
			t.Fatalf("%d numbers from %d on, in pieces of %d: %s", len(numbers), at, piece, diff)
		}
	}
}

// TestErrors compares at all lengths to a few steps, from each lane on, with special numbers,
// and over several blocks.
func TestErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	numbers, stand := make([]float32, block+13), make([]float32, block+13)
	for i := range numbers {
		numbers[i] = float32(r.NormFloat64())
		stand[i] = float32(math.Round(float64(numbers[i]*4))) / 4
	}
	special := specials()
	for i := range 40 {
		for j := range 7 {
			numbers[i*len(special)+j*3%len(special)] = special[(i*5+j)%len(special)]
			stand[i*len(special)+j*5%len(special)] = special[(i*7+j)%len(special)]
		}
	}
	for n := range 80 {
		for at := range 9 {
			compareErrors(t, numbers[n:2*n], stand[n:2*n], at, 1+(n+at)%11)
		}
	}
	compareErrors(t, numbers, stand, 3, 1000)
}

// compareQ8 compares EncodeQ8 with its Go version.
func compareQ8(t *testing.T, src []float32) {
	t.Helper()
	src = src[:len(src)&^(q8Elems-1)]
	n := len(src) / q8Elems
	got, want, made := make([]byte, n*q8Bytes+1), make([]byte, n*q8Bytes+1), 0
	for made < n && q8Plain(want[made*q8Bytes:], src[made*q8Elems:]) {
		made++
	}
	if blocks := EncodeQ8(got[:n*q8Bytes], src); blocks != made {
		t.Fatalf("%d of %d blocks, want %d", blocks, n, made)
	}
	for i := range made {
		got, want := got[i*q8Bytes:][:q8Bytes], want[i*q8Bytes:][:q8Bytes]
		if !bytes.Equal(got, want) {
			t.Fatalf("block %d of %d, %v: %s", i, n, src[i*q8Elems:][:q8Elems], cmp.Diff(want, got))
		}
	}
	if got[n*q8Bytes] != 0 {
		t.Fatalf("%d blocks: written outside of the destination", n)
	}
}

// TestQ8 compares blocks of all magnitudes, with special numbers at each place, and with
// numbers at and next to halves of the scale.
func TestQ8(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	var src []float32
	for exponent := -149; exponent < 128; exponent++ {
		for range q8Elems * 5 {
			src = append(src, float32(math.Ldexp(r.NormFloat64(), exponent)))
		}
		compareQ8(t, src[max(0, len(src)-q8Elems*7):])
	}
	for n := 0; n <= len(src); n += 13 * q8Elems {
		compareQ8(t, src[:n])
	}
	for _, most := range []float32{127, 1, 0.1, 3e-5, 127 * 65504, math.Nextafter32(127*65504, 1e9), 65519.99 * 127, 65520 * 127, 127 * 0x1p-24, 127 * 0x1p-25, 128 * 0x1p-25} {
		edge := []float32{most}
		for k := -127; k < 128; k++ {
			x := most / 127 * (float32(k) + 0.5)
			edge = append(edge, x, math.Nextafter32(x, 1e9), math.Nextafter32(x, -1e9), most)
		}
		for i := range q8Elems {
			compareQ8(t, edge[i:])
		}
	}
	for i := range 3 * q8Elems {
		for _, x := range specials() {
			one := make([]float32, 3*q8Elems)
			one[i] = x
			compareQ8(t, one)
		}
	}
}

// FuzzQuantize compares the routines over any numbers, with any scale.
func FuzzQuantize(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte, scale uint32, at uint8) {
		room := memory.Aligned(len(data) &^ 3)
		copy(room, data)
		src, _ := memory.Cast[float32](room)
		s := math.Float32frombits(scale % 0x7f800000)
		if s == 0 {
			s = 1
		}
		compareRange(t, src, 0, 0)
		compareQ8(t, src)
		compareRangeRow(t, src[:len(src)/2], src[len(src)/2:][:len(src)/2])
		compareRows(t, src, steps(s))
		for _, steps := range steps(s) {
			compareSteps(t, src, s, steps)
		}
		stand := make([]float32, len(src))
		for i := range stand {
			stand[i] = src[len(src)-1-i]
		}
		compareErrors(t, src, stand, int(at), 1+int(at%13))
	})
}

// encoders are the routines that narrow.
var encoders = []struct {
	name   string
	encode func(dst []byte, src []float32)
}{
	{"float16", EncodeFloat16},
	{"bfloat16", EncodeBFloat16},
}

// compareEncoders compares both over the float32 in data, placed where a test says; what
// lies around dst must stay as it is.
func compareEncoders(t *testing.T, data []byte, at where) {
	t.Helper()
	const around = 32
	n := len(data) / 4
	src, fit := memory.Cast[float32](placed(data, 4*n, 4*at.dst))
	if !fit {
		t.Fatal("misaligned")
	}
	for _, e := range encoders {
		want := make([]byte, 2*n)
		plainly(func() { e.encode(want, src) })
		all := bytes.Repeat([]byte{0xa5}, at.src+2*n+2*around)
		got := all[at.src+around:][:2*n]
		e.encode(got, src)
		for i := range src {
			if got, want := got[2*i:2*i+2], want[2*i:2*i+2]; !bytes.Equal(got, want) {
				t.Fatalf("%s, %d elements, %+v: element %d, %#08x, is %#x, want %#x", e.name, n, at, i, math.Float32bits(src[i]), got, want)
			}
		}
		if len(bytes.Trim(all[:at.src+around], "\xa5")) > 0 || len(bytes.Trim(all[at.src+around+2*n:], "\xa5")) > 0 {
			t.Fatalf("%s, %d elements, %+v: written outside of the destination", e.name, n, at)
		}
	}
}

// TestEncoders compares at all lengths to a few steps, at alignments that change with the
// length, and over several blocks.
func TestEncoders(t *testing.T) {
	data := random(4 * (3*block + 21))
	for n := range 600 {
		compareEncoders(t, data[:4*n], where{n % 64, n % 16})
	}
	for _, n := range []int{block - 1, block, block + 1, 3*block + 21} {
		compareEncoders(t, data[:4*n], where{n % 64, n % 16})
	}
}

// TestEverySingle compares float32 of all signs and exponents, and of fractions around
// those that decide rounding; with WEIGHTMAP_LARGE set all 4,294,967,296.
func TestEverySingle(t *testing.T) {
	step := uint64(block)
	var fractions []uint32
	if os.Getenv("WEIGHTMAP_LARGE") == "" {
		for kept := range uint32(1 << 11) { // the bits above the lowest that is kept, and around it
			for _, d := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x1fff} {
				if testhost.Nightly() || kept%16 < 3 {
					fractions = append(fractions, (kept<<12+d)&0x7fffff)
				}
			}
		}
		step = 1 << 23
	}
	for first := uint64(0); first < 1<<32; first += step {
		var src []float32
		if fractions == nil {
			for b := first; b < first+step; b++ {
				src = append(src, math.Float32frombits(uint32(b)))
			}
		}
		for _, f := range fractions {
			src = append(src, math.Float32frombits(uint32(first)|f))
		}
		compareEncoders(t, memory.BytesOf(src), where{})
	}
}
