package vector

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
)

// conversion is a routine next to its Go version. src holds size bytes an element.
type conversion struct {
	name    string
	size    int
	convert func(dst []float32, src []byte, stream bool)
	plain   func(dst []float32, src []byte)
}

// plainly calls f with the Go versions alone.
func plainly(f func()) {
	integers, half := haveIntegers, haveHalf
	defer func() { haveIntegers, haveHalf = integers, half }()
	haveIntegers, haveHalf = false, false
	f()
}

// conversionOf is a routine next to itself without vectors.
func conversionOf(name string, size int, convert func(dst []float32, src []byte, stream bool)) conversion {
	return conversion{name, size, convert, func(dst []float32, src []byte) { plainly(func() { convert(dst, src, false) }) }}
}

// conversions are all routines, those with parameters with a few of them.
func conversions() []conversion {
	all := []conversion{
		conversionOf("float16", 2, Float16),
		conversionOf("bfloat16", 2, BFloat16),
		linearConversion("int8", Int8, 0.03, -5),
		linearConversion("uint8", Uint8, 1e-41, 128),
		linearConversion("inexact zero point", Int8, 3, math.MinInt32),
		{"float64", 8, Float64, func(dst []float32, src []byte) { Numbers[float64](dst, src, false) }},
		{"int32", 4, Int32, func(dst []float32, src []byte) { Numbers[int32](dst, src, false) }},
		linearConversion("int16", Int16, 0.03, -5),
		linearConversion("uint16", Uint16, 1e-41, 32768),
		linearConversion("int16, inexact zero point", Int16, 3, math.MaxInt32),
	}
	r := rand.New(rand.NewPCG(8, 8))
	for _, width := range []int{1, 7, 16, 100, 513, 2500} {
		scales, zeros := make([]float32, width), make([]int32, width)
		for i := range width {
			scales[i], zeros[i] = float32(r.NormFloat64()), int32(r.IntN(256)-128)
		}
		all = append(all,
			rowConversion(fmt.Sprint("int8 rows of ", width), Int8, scales, zeros),
			rowConversion(fmt.Sprint("uint8 rows of ", width, ", one zero point"), Uint8, scales, []int32{3}))
	}
	return append(all,
		rowConversion("rows with an inexact zero point", Int8, []float32{1, 2, 3}, []int32{0, 1, exactZero + 1}))
}

func linearConversion(name string, k Kind, scale float32, zero int32) conversion {
	return conversionOf(name, k.size, func(dst []float32, src []byte, stream bool) { Linear(dst, src, k, scale, zero, stream) })
}

// rowConversion has the definition for its Go version, element by element, and begins within a row.
func rowConversion(name string, k Kind, scales []float32, zeros []int32) conversion {
	first := len(scales) / 3
	return conversion{name, 1,
		func(dst []float32, src []byte, stream bool) {
			Rows(dst, src, k, scales, zeros, first, stream)
		},
		func(dst []float32, src []byte) {
			for i := range dst {
				c := (first + i) % len(scales)
				dst[i] = k.linear(src[i:], scales[c], zeros[c%len(zeros)])
			}
		}}
}

// where the bytes of a comparison begin, after a multiple of a cache line.
type where struct{ src, dst int }

// guarded returns what f writes to n numbers, placed at numbers after a multiple of a cache line, and
// fails if it writes anything around them.
func guarded(t *testing.T, n, at int, f func(dst []float32)) []float32 {
	t.Helper()
	const around = 16 // numbers
	all := memory.Aligned(4 * (n + 2*around + at))
	fill(all, 0xa5)
	dst, fit := memory.Cast[float32](all[4*at:])
	if !fit {
		t.Fatal("misaligned")
	}
	dst = dst[around : around+n : around+n]
	f(dst)
	first := 4 * (at + around)
	if len(bytes.Trim(all[:first], "\xa5")) > 0 || len(bytes.Trim(all[first+4*n:], "\xa5")) > 0 {
		t.Fatalf("%d numbers, %d after a cache line: written outside of the destination", n, at)
	}
	return dst
}

// differs returns the index of the first number of which the bits differ, or -1.
func differs(got, want []float32) int {
	if bytes.Equal(memory.BytesOf(got), memory.BytesOf(want)) {
		return -1
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return i
		}
	}
	return len(want)
}

// placed returns a copy of data that begins at bytes after a multiple of a cache line.
func placed(data []byte, n, at int) []byte {
	src := memory.Aligned(at + n)[at:]
	copy(src, data)
	return src
}

// compare runs both over n elements of data, placed where a test says, and compares the bits.
func (c conversion) compare(t *testing.T, data []byte, n int, at where) {
	t.Helper()
	src := placed(data, c.size*n, at.src)
	want := make([]float32, n)
	c.plain(want, src)
	for _, stream := range []bool{false, true} {
		got := guarded(t, n, at.dst, func(dst []float32) { c.convert(dst, src, stream) })
		if i := differs(got, want); i >= 0 {
			t.Fatalf("%s, %d elements, %+v, stream %v: element %d, %#x, is %#08x, want %#08x",
				c.name, n, at, stream, i, src[c.size*i:c.size*(i+1)], math.Float32bits(got[i]), math.Float32bits(want[i]))
		}
	}
}

func fill(p []byte, x byte) {
	p[0] = x
	for n := 1; n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
}

// TestLengths compares at all lengths up to 4096, at alignments that change with the length, and what takes several
// blocks.
func TestLengths(t *testing.T) {
	data := random(8 * (5*block + 77))
	for _, c := range conversions() {
		t.Run(c.name, func(t *testing.T) {
			for n := range 4097 {
				if !testhost.Nightly() && n > 600 && n%31 != 0 {
					continue
				}
				c.compare(t, data, n, where{n % 64, n / 64 % 16})
			}
			for _, n := range []int{block - 1, block, block + lanes, 5*block + 77} {
				c.compare(t, data, n, where{n % 61, n % 13})
			}
		})
	}
}

// everyHalf is all 65,536 patterns of 16 bits.
func everyHalf() (data []byte) {
	for h := range 1 << 16 {
		data = append(data, byte(h), byte(h>>8))
	}
	return data
}

// TestEveryHalf compares all 65,536 values of both 16-bit floats.
func TestEveryHalf(t *testing.T) {
	data := everyHalf()
	for _, c := range conversions()[:2] {
		c.compare(t, data, 1<<16, where{})
		// Each value in every lane.
		for shift := range lanes {
			c.compare(t, data[2*shift:], 1<<16-shift, where{})
		}
	}
}

// parameters are the scales and zero points that a file may have, at their limits.
func parameters() (scales []float32, zeros []int32) {
	for _, bits := range []uint32{
		0, 1, 2, 0x7fffff, 0x800000, 0x00400001, // zero, subnormals, the smallest normal
		0x3f800000, 0x3dcccccd, 0x3c23d70b, 0x7f7fffff, 0x7effffff, // ordinary, and the largest
		0x7f800000, 0x7fc00000, 0x7fc12345, 0x7f800001, 0x7fabcdef, // infinite, quiet and signaling NaN
	} {
		scales = append(scales, math.Float32frombits(bits), math.Float32frombits(bits|1<<31))
	}
	return scales, []int32{0, 1, -1, 127, -128, 255, 128, 32767, exactZero - 1, exactZero, -exactZero,
		exactZero + 1, -exactZero - 1, 1 << 24, math.MaxInt32, math.MinInt32, math.MaxInt32 - 127}
}

// TestRounding compares where rounding to float32 is decided: float64 and int32 next to
// numbers between two float32, and special values.
func TestRounding(t *testing.T) {
	var doubles, integers []byte
	for _, high := range []uint64{0, 1, 0x369 << 52, 0x380 << 52, 0x381 << 52, 0x3ff << 52, 0x47e << 52, 0x47f << 52, 0x7fe << 52, 0x7ff << 52} {
		for _, upper := range []uint64{0, 1, 2, 1<<22 - 1, 1 << 22, 1<<23 - 2, 1<<23 - 1} {
			for _, lower := range []uint64{0, 1, 1<<28 - 1, 1 << 28, 1<<28 + 1, 1<<29 - 1} {
				bits := high | upper<<29 | lower
				doubles = binary.LittleEndian.AppendUint64(doubles, bits)
				doubles = binary.LittleEndian.AppendUint64(doubles, bits|1<<63)
			}
		}
	}
	for shift := range 32 {
		for d := range uint32(600) {
			integers = binary.LittleEndian.AppendUint32(integers, 1<<shift+d-300)
			integers = binary.LittleEndian.AppendUint32(integers, -(1<<shift + d - 300))
		}
	}
	for shift := range lanes {
		conversion{"float64", 8, Float64, func(dst []float32, src []byte) { Numbers[float64](dst, src, false) }}.compare(t, doubles[8*shift:], len(doubles)/8-shift, where{})
		conversion{"int32", 4, Int32, func(dst []float32, src []byte) { Numbers[int32](dst, src, false) }}.compare(t, integers[4*shift:], len(integers)/4-shift, where{})
	}
}

// TestLookup has all bytes at all places of a step.
func TestLookup(t *testing.T) {
	var values [256]float32
	for b := range values {
		values[b] = float32(b) * 1.5
	}
	src := random(600)
	for n := range src {
		got, want := make([]float32, n), make([]float32, n)
		Lookup(got, src, &values)
		for i := range want {
			want[i] = values[src[i]]
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d bytes differ", n)
		}
	}
}

// TestEveryInteger compares all integers of 8 and 16 bits with all parameters.
func TestEveryInteger(t *testing.T) {
	var data []byte
	for b := range 256 {
		data = append(data, byte(b))
	}
	halves := everyHalf()
	scales, zeros := parameters()
	for i, s := range scales {
		for j, z := range zeros {
			for _, k := range []Kind{Int8, Uint8} {
				linearConversion(fmt.Sprintf("kind %v scale %x zero %d", k, s, z), k, s, z).compare(t, data, 256, where{})
			}
			for _, k := range []Kind{Int16, Uint16} {
				if testhost.Nightly() || (i+j)%8 == 0 {
					linearConversion(fmt.Sprintf("kind %v scale %x zero %d", k, s, z), k, s, z).compare(t, halves, 1<<16, where{})
				}
			}
		}
	}
	many := make([]int32, len(scales))
	for i := range many {
		many[i] = zeros[i%11] // those that the vector loop takes
	}
	for _, k := range []Kind{Int8, Uint8} {
		for _, z := range zeros {
			rowConversion(fmt.Sprintf("kind %v all scales, zero %d", k, z), k, scales, []int32{z}).compare(t, bytes.Repeat(data, 33), 256*33, where{})
		}
		rowConversion(fmt.Sprintf("kind %v all scales and zeros", k), k, scales, many).compare(t, bytes.Repeat(data, 33), 256*33, where{})
	}
}

func random(n int) []byte {
	r := rand.New(rand.NewPCG(32, 16))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// slowAdler is the definition, which takes sums above the modulus to begin with.
func slowAdler(sum uint32, p []byte) uint32 {
	a, b := sum&0xffff, sum>>16
	for _, x := range p {
		a = (a + uint32(x)) % adlerMod
		b = (b + a) % adlerMod
	}
	return b<<16 | a
}

// TestAdlerLargest runs the largest bytes and random ones through more than one
// block, where a lane or a long sum that is too narrow would overflow.
func TestAdlerLargest(t *testing.T) {
	const most = 3*block + adlerStep + 5
	for name, p := range map[string][]byte{"0xff": bytes.Repeat([]byte{0xff}, most), "random": random(most)} {
		for _, n := range []int{adlerStep - 1, adlerStep, adlerStep + 1, block - 1, block, block + 1, most} {
			// The largest sums to begin with, and odd ones above the modulus.
			for _, from := range []uint32{1, 65520<<16 | 65520, 0xffffffff} {
				if got, want := Adler32(from, p[:n]), slowAdler(from, p[:n]); n > 0 && got != want {
					t.Errorf("%d bytes of %s after %#x: %#x, want %#x", n, name, from, got, want)
				}
			}
		}
	}
}

// FuzzTwins compares every routine with its Go version, over bytes and with parameters
// as a hostile file may have them.
func FuzzTwins(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte, src, dst uint8, scale, last uint32, zero, end int32, width uint16) {
		at := where{int(src % 64), int(dst % 16)}
		// A row between two scales and two zero points.
		scales, zeros := make([]float32, int(width%2048)+1), make([]int32, int(width%2048)+1)
		for i := range scales {
			scales[i], zeros[i] = math.Float32frombits(scale), zero
		}
		scales[len(scales)/2], zeros[len(zeros)/2] = math.Float32frombits(last), end
		for _, k := range []Kind{Int8, Uint8} {
			linearConversion("linear", k, scales[0], zero).compare(t, data, len(data), at)
			rowConversion("rows", k, scales, zeros).compare(t, data, len(data), at)
			rowConversion("rows, one zero point", k, scales, zeros[:1]).compare(t, data, len(data), at)
		}
		for _, k := range []Kind{Int16, Uint16} {
			linearConversion("linear16", k, scales[0], zero).compare(t, data, len(data)/2, at)
		}
		for _, c := range []conversion{
			conversionOf("float16", 2, Float16), conversionOf("bfloat16", 2, BFloat16),
			{"float64", 8, Float64, func(dst []float32, src []byte) { Numbers[float64](dst, src, false) }}, {"int32", 4, Int32, func(dst []float32, src []byte) { Numbers[int32](dst, src, false) }},
		} {
			c.compare(t, data, len(data)/c.size, at)
		}
		compareEncoders(t, data, at)
		if got, want := Adler32(1, data), adler32.Checksum(data); got != want {
			t.Errorf("Adler-32 %#x, want %#x", got, want)
		}
	})
}

func TestSwap(t *testing.T) {
	for word, want := range map[int]string{1: "abcdefgh", 2: "badcfehg", 4: "dcbahgfe", 8: "hgfedcba"} {
		b := []byte("abcdefgh")
		if Swap(b, word); string(b) != want {
			t.Errorf("%d: %s", word, b)
		}
	}
}
