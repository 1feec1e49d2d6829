package vector

import (
	"bytes"
	"math"
	"os"
	"testing"

	"github.com/weightmap/weightmap/internal/memory"
)

// encoders are the routines that narrow, each next to its Go version.
var encoders = []struct {
	name          string
	encode, plain func(dst []byte, src []float32)
}{
	{"float16", EncodeFloat16, toHalfPlain},
	{"bfloat16", EncodeBFloat16, toBrainPlain},
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
		e.plain(want, src)
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
				if !testing.Short() || kept%16 < 3 {
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
