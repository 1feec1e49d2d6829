package vector

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/weightmap/weightmap/internal/testhost"
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

// TestBlockLengths compares up to as many blocks as one call takes, at alignments that
// change with the length.
func TestBlockLengths(t *testing.T) {
	data := random(34 * Batch)
	for _, c := range blockCodes() {
		t.Run(c.name, func(t *testing.T) {
			for n := range Batch + 1 {
				if n < 70 || n > Batch-3 || n%101 == 0 {
					c.compare(t, data, halfScales(0x2c00, n), noMinimums(n), where{n % 64, n / 4 % 16})
				}
			}
		})
	}
}

func noMinimums(n int) []float32 {
	all := make([]float32, n)
	for i := range all {
		all[i] = float32(math.Copysign(0, -1))
	}
	return all
}

// TestEveryScale compares all scales with all bytes, and with minimums at their limits.
func TestEveryScale(t *testing.T) {
	minimums, _ := parameters()
	minimums = append(minimums, halfScales(0x3c01, 20)...)
	step := 1
	if !testhost.Nightly() {
		step = 37
	}
	for _, c := range blockCodes() {
		t.Run(c.name, func(t *testing.T) {
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

// The test's blocks have the bits of their elements first, then D and Min as float16, and
// the bytes of their scales and minimums.
const (
	groupBits  = 192
	groupBytes = groupBits + 2 + 2 + 16 + 16
)

func unpackGroups(s *Scales, b []byte) {
	le, b := binary.LittleEndian, b[groupBits:]
	s.D, s.Min = math.Float32frombits(HalfBits(le.Uint16(b))), math.Float32frombits(HalfBits(le.Uint16(b[2:])))
	s.Scale = [2]uint64{le.Uint64(b[4:]), le.Uint64(b[12:])}
	s.Low = [2]uint64{le.Uint64(b[20:]), le.Uint64(b[28:])}
}

// groupLayouts are layouts as formats have them.
func groupLayouts() []*Groups {
	return []*Groups{
		{Halves: 1, LowMask: 15, Rows: [8]Row{{0, 0}, {0, 4}, {32, 0}, {32, 4}, {64, 0}, {64, 4}, {96, 0}, {160, 4}}},
		{Halves: 2, LowMask: 3, Rows: [8]Row{{1, 0}, {1, 2}, {1, 4}, {1, 6}, {41, 0}, {41, 2}, {41, 4}, {41, 6}}},
		{Halves: 1, LowMask: 3, Base: 1, Rows: [8]Row{{0, 0}, {0, 2}, {0, 4}, {0, 6}, {32, 0}, {32, 2}, {32, 4}, {32, 6}}},
		{Halves: 2, LowMask: 3, HighMask: 1, HighUp: 2, Base: 4, Rows: [8]Row{
			{0, 0, 64, 0}, {0, 2, 64, 1}, {0, 4, 64, 2}, {0, 6, 64, 3}, {32, 0, 64, 4}, {32, 2, 64, 5}, {32, 4, 64, 6}, {32, 6, 64, 7}}},
		{Halves: 2, LowMask: 15, HighMask: 3, HighUp: 4, Base: 32, Rows: [8]Row{
			{0, 0, 128, 0}, {32, 0, 128, 2}, {0, 4, 128, 4}, {32, 4, 128, 6}, {64, 0, 160, 0}, {96, 0, 160, 2}, {64, 4, 160, 4}, {96, 4, 160, 6}}},
	}
}

func (g *Groups) String() string {
	return fmt.Sprintf("%d halves, masks %d and %d", g.Halves, g.LowMask, g.HighMask)
}

// element is the definition of element i of a block.
func (g *Groups) element(s *Scales, b []byte, i int) float32 {
	r, j := g.Rows[i/32], i%32
	v := b[int(r[0])+j] >> r[1] & byte(g.LowMask)
	v |= b[int(r[2])+j] >> r[3] & byte(g.HighMask) << g.HighUp
	group := i * g.Halves / 32
	scale, low := int8(s.Scale[group/8]>>(group%8*8)), int8(s.Low[group/8]>>(group%8*8))
	product, minimum := s.D*float32(scale)*float32(int(v)-int(g.Base)), s.Min*float32(low)
	return float32(product) - float32(minimum) // not fused
}

// compareGroups decodes n blocks of data, placed where a test says, with the routine and with
// its copy.
func compareGroups(t *testing.T, g *Groups, data []byte, n int, at where) {
	t.Helper()
	g.Size, g.Unpack = groupBytes, unpackGroups
	src := placed(data, n*g.Size, at.src)
	scales, want := make([]Scales, n), make([]float32, groupElems*n)
	for i := range scales {
		g.Unpack(&scales[i], src[i*g.Size:])
	}
	for i := range want {
		b := i / groupElems
		want[i] = g.element(&scales[b], src[b*g.Size:], i%groupElems)
	}
	plain := func(dst []float32, src []byte) { g.plain(dst, src, scales) }
	for i, decode := range []func(dst []float32, src []byte){g.Decode, plain} {
		got := guarded(t, groupElems*n, at.dst, func(dst []float32) { decode(dst, src) })
		if k := differs(got, want); k >= 0 {
			t.Fatalf("%v, routine %d, %d blocks, %+v: element %d is %#08x, want %#08x", g, i, n, at, k, math.Float32bits(got[k]), math.Float32bits(want[k]))
		}
	}
}

// TestGroupLengths compares up to more blocks than have their scales unpacked at a time, at
// alignments that change with the length.
func TestGroupLengths(t *testing.T) {
	data := random(groupBytes * (2*unpacked + 2))
	for _, g := range groupLayouts() {
		t.Run(g.String(), func(t *testing.T) {
			for n := range 2*unpacked + 2 {
				compareGroups(t, g, data, n, where{7 * n % 64, n % 16})
			}
		})
	}
}
