package gguf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/tensor"
)

// TestDecodePublished compares blocks of any bits, so of extreme scales too, with what
// testdata/blocks.py computes from the published layouts: number by number where Python is, and else by checksum.
func TestDecodePublished(t *testing.T) {
	python, noPython := exec.LookPath("python3")
	var sums strings.Builder
	for code, et := range elementTypes {
		e := et.encoding
		if e == nil || e.Decode == nil {
			continue
		}
		r := rand.New(rand.NewPCG(5, uint64(code)))
		src := make([]byte, 16*e.BlockBytes)
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		got, sum := make([]float32, 16*e.BlockElems), fnv.New64a()
		if err := e.Decode(got, src); err != nil {
			t.Fatal(e.Name, err)
		}
		for i, x := range got {
			if x != x {
				got[i] = math.Float32frombits(0x7fc00000) // whatever its bits
			}
		}
		bits, _ := binary.Append(nil, binary.LittleEndian, got)
		sum.Write(bits)
		fmt.Fprintf(&sums, "%s %x\n", e.Name, sum.Sum(nil))
		if noPython == nil {
			t.Run(e.Name, func(t *testing.T) { comparePublished(t, python, e.Name, src, got) })
		}
	}
	want, err := os.ReadFile("testdata/decoded.txt")
	if diff := cmp.Diff(string(want), sums.String()); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestDecodeMany: more blocks than one batch has decode as each of them alone.
func TestDecodeMany(t *testing.T) {
	for code, et := range elementTypes {
		e := et.encoding
		if e == nil || e.Decode == nil {
			continue
		}
		const blocks = 2*vector.Batch + 3
		r := rand.New(rand.NewPCG(6, uint64(code)))
		src := make([]byte, blocks*e.BlockBytes)
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		got, want := make([]float32, blocks*e.BlockElems), make([]float32, blocks*e.BlockElems)
		expect.OK(t, e.Decode(got, src))
		for i := range int64(blocks) {
			expect.OK(t, e.Decode(want[i*e.BlockElems:][:e.BlockElems], src[i*e.BlockBytes:][:e.BlockBytes]))
		}
		for i, w := range want {
			if g := got[i]; math.Float32bits(g) != math.Float32bits(w) && (g == g || w == w) {
				t.Fatalf("%s: element %d is %v, want %v", e.Name, i, g, w)
			}
		}
	}
}

// comparePublished compares numbers with those that Python decodes.
func comparePublished(t *testing.T, python, name string, src []byte, got []float32) {
	path := filepath.Join(t.TempDir(), "blocks")
	expect.OK(t, os.WriteFile(path, src, 0o666))
	want, err := exec.Command(python, filepath.Join("testdata", "blocks.py"), name, path, "codebooks.bin").Output()
	if err != nil || len(want) != 4*len(got) {
		t.Fatal(err, len(want))
	}
	for i, x := range got {
		if w := math.Float32frombits(binary.LittleEndian.Uint32(want[4*i:])); math.Float32bits(x) != math.Float32bits(w) && (x == x || w == w) {
			t.Fatalf("element %d is %v, want %v", i, x, w)
		}
	}
}

// TestBlockSizes: a decoder gets whole blocks, and as many elements.
func TestBlockSizes(t *testing.T) {
	e := elementTypes[2].encoding // Q4_0: 32 elements in 18 bytes
	for _, n := range []struct{ elems, bytes int }{{40, 18}, {32, 20}, {32, 36}, {64, 18}} {
		expect.Refused(t, format.ErrShape, n.elems, "elements of", n.bytes, "bytes")(nil, e.Decode(make([]float32, n.elems), make([]byte, n.bytes)))
	}
}

// TestQuantizeRefused: rows that are no whole blocks, and bytes that do not fit.
func TestQuantizeRefused(t *testing.T) {
	for _, shape := range []tensor.Shape{{33}, {2, 16}, {}} {
		n, _ := shape.Elems()
		if _, _, _, err := tensor.Quantize(make([]float32, n), shape, tensor.QuantizeOptions{Encoding: Q8_0()}); !errors.Is(err, format.ErrShape) {
			t.Errorf("%v: %v", shape, err)
		}
	}
	expect.Refused(t, format.ErrDType)(tensor.NewQuantizer(tensor.Shape{32}, tensor.QuantizeOptions{Encoding: elementTypes[2].encoding}))
	for _, n := range []int{0, 33, 35, 68} {
		expect.Refused(t, format.ErrShape, n, "bytes")(nil, Q8_0().Encode(make([]byte, n), make([]float32, 32)))
	}
}

// TestQuantizeBlock is a block byte by byte: 127 and -63.5 with a scale of 1, and
// halves rounded away from zero.
func TestQuantizeBlock(t *testing.T) {
	x := append([]float32{127, -63.5, 0.5, -0.5, 0.49, 1.5, 2.5, -127}, make([]float32, 24)...)
	got := make([]byte, 34)
	err := Q8_0().Encode(got, x)
	want := append([]byte{0x00, 0x3c, 127, 0xc0, 1, 0xff, 0, 2, 3, 0x81}, make([]byte, 24)...)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(-1)), 1e30} {
		x[10] = bad
		if err := Q8_0().Encode(got, x); !errors.Is(err, format.ErrQuantization) {
			t.Errorf("%v is quantized", bad)
		}
	}
	clear(x)
	x[0] = 1e-44 // its inverse is infinite
	if err = Q8_0().Encode(got, x); err != nil || cmp.Diff(make([]byte, 34), got) != "" {
		t.Errorf("% x, %v", got, err)
	}
}
