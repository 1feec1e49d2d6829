package vector

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

// blockCode is a routine for blocks of 32 elements next to its copy in plain Go and
// their definition, element by element.
type blockCode struct {
	name          string
	stride        int
	decode, plain func(dst []float32, src []byte, scales, mins []float32)
	element       func(b []byte, i int, scale, minimum float32) float32
}

func nibbleCode(name string, n Nibbles) blockCode {
	return blockCode{name, n.Stride, n.Decode, n.plain, func(b []byte, i int, scale, minimum float32) float32 {
		v := n.Values[b[n.At+i%16]>>(i/16*4)&15]
		if binary.LittleEndian.Uint32(b[n.Fifth:])>>i&1 != 0 {
			v += n.High
		}
		if minimum != minimum {
			scale = 0
		}
		return float32(v)*scale + minimum
	}}
}

func scaledCode(stride int) blockCode {
	name := fmt.Sprint("bytes, ", stride)
	return blockCode{name, stride,
		func(dst []float32, src []byte, scales, _ []float32) { Scaled(dst, src, stride, scales) },
		func(dst []float32, src []byte, scales, _ []float32) { scaledPlain(dst, src, stride, scales) },
		func(b []byte, i int, scale, _ float32) float32 { return float32(int8(b[stride-32+i])) * scale }}
}

// blockCodes are the routines with parameters as formats have them, and with others.
func blockCodes() []blockCode {
	counted := [16]int8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	uneven := [16]int8{-128, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 127}
	return []blockCode{
		nibbleCode("scale, nibbles", Nibbles{Stride: 18, At: 2, Values: uneven}),
		nibbleCode("scale, minimum, nibbles", Nibbles{Stride: 20, At: 4, Values: counted}),
		nibbleCode("scale, minimum, fifth bits, nibbles", Nibbles{Stride: 24, At: 8, Fifth: 4, Values: counted, High: 16}),
		nibbleCode("fifth bits last, that overflow", Nibbles{Stride: 23, At: 3, Fifth: 19, Values: uneven, High: -16}),
		nibbleCode("nothing but nibbles", Nibbles{Stride: 16, Values: counted}),
		scaledCode(34),
		scaledCode(32),
	}
}

// compare runs the routine and its copy over n blocks of data, placed where a test says.
func (c blockCode) compare(t *testing.T, data []byte, scales, mins []float32, at where) {
	t.Helper()
	n := len(scales)
	src := placed(data, n*c.stride, at.src)
	want := make([]float32, 32*n)
	for i := range want {
		b := i / 32
		want[i] = c.element(src[b*c.stride:(b+1)*c.stride], i%32, scales[b], mins[b])
	}
	for i, decode := range []func(dst []float32, src []byte, scales, mins []float32){c.decode, c.plain} {
		got := guarded(t, 32*n, at.dst, func(dst []float32) { decode(dst, src, scales, mins) })
		if k := differs(got, want); k >= 0 {
			t.Fatalf("%s, routine %d, %d blocks, %+v: element %d is %#08x, want %#08x", c.name, i, n, at, k, math.Float32bits(got[k]), math.Float32bits(want[k]))
		}
	}
}

// halfScales are the float16 from h on, as many as blocks.
func halfScales(h, n int) []float32 {
	scales := make([]float32, n)
	for i := range scales {
		scales[i] = math.Float32frombits(HalfBits(uint16(h + i)))
	}
	return scales
}

// TestBlockLengths compares up to more blocks than one call takes, at alignments that
// change with the length.
func TestBlockLengths(t *testing.T) {
	data := random(34 * (2*batch + 3))
	for _, c := range blockCodes() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for n := range 2*batch + 3 {
				if n < 70 || n%batch < 3 || n%101 == 0 {
					c.compare(t, data, halfScales(0x2c00, n), noMinimums(n), where{n % 64, n / 4 % 16})
				}
			}
		})
	}
}

func noMinimums(n int) []float32 {
	all := make([]float32, n)
	for i := range all {
		all[i] = noMins[0]
	}
	return all
}

// TestEveryScale compares all scales with all bytes, and with minimums at their limits.
func TestEveryScale(t *testing.T) {
	minimums, _ := parameters()
	minimums = append(minimums, halfScales(0x3c01, 20)...)
	step := 1
	if testing.Short() {
		step = 37
	}
	for _, c := range blockCodes() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			data := random(17 * c.stride)
			for at := range data { // all bytes at every place
				data[at] = byte(at%c.stride + 16*(at/c.stride))
			}
			for h := 0; h < 1<<16; h += step {
				scales, mins := make([]float32, 17), make([]float32, 17)
				for i := range scales {
					scales[i], mins[i] = halfScales(h, 1)[0], minimums[(h+i)%len(minimums)]
				}
				c.compare(t, data, scales, mins, where{})
			}
		})
	}
}

// FuzzBlocks compares blocks of any layout, with any values.
func FuzzBlocks(f *testing.F) {
	f.Fuzz(func(t *testing.T, data, values []byte, more, at, fifth, high, src, dst uint8, scale, minimum uint16) {
		n := Nibbles{At: int(at), Fifth: int(fifth), High: int8(high)}
		n.Stride = max(n.At+16, n.Fifth+4) + int(more%8)
		for i := range min(len(values), 16) {
			n.Values[i] = int8(values[i])
		}
		place := where{int(src % 64), int(dst % 16)}
		for _, c := range []blockCode{nibbleCode("nibbles", n), scaledCode(32 + int(more))} {
			blocks := len(data)/c.stride + 1
			c.compare(t, data, halfScales(int(scale), blocks), halfScales(int(minimum), blocks), place)
		}
	})
}
