package gguf

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/tensor"
)

// same reports whether two float32 have the same bits, or are both NaN.
func same(x float32, bits uint32) bool {
	return math.Float32bits(x) == bits || x != x && math.IsNaN(float64(math.Float32frombits(bits)))
}

// TestDecodePublished compares blocks of any bits, so of extreme scales too, with what
// testdata/blocks.py computes from the published layouts.
func TestDecodePublished(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python here: ", err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, et := range elementTypes {
		e := et.encoding
		if e == nil || e.Decode == nil {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			src := make([]byte, 16*e.BlockBytes)
			for i := range src {
				src[i] = byte(r.Uint32())
			}
			path := filepath.Join(t.TempDir(), "blocks")
			if err := os.WriteFile(path, src, 0o666); err != nil {
				t.Fatal(err)
			}
			want, err := exec.Command(python, filepath.Join("testdata", "blocks.py"), e.Name, path, "codebooks.bin").Output()
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float32, 16*e.BlockElems)
			if err := e.Decode(got, src); err != nil || len(want) != 4*len(got) {
				t.Fatal(err, len(want))
			}
			for i, x := range got {
				if w := binary.LittleEndian.Uint32(want[4*i:]); !same(x, w) {
					t.Fatalf("element %d is %v, want %v", i, x, math.Float32frombits(w))
				}
			}
		})
	}
}

// TestReference compares values with what the reference makes of blocks of every type, where
// its files are at hand.
func TestReference(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "foreign", "gguf")
	m, err := Open(filepath.Join(dir, "all.gguf"), nil)
	if err != nil {
		t.Skip("no files of others here: ", err)
	}
	defer m.Close()
	n := 0
	for name, v := range m.Tensors() {
		want, err := os.ReadFile(filepath.Join(dir, name+".f32"))
		if err != nil {
			if strings.HasPrefix(name, "rand.") {
				t.Logf("%s: no values beside the file", name)
			}
			continue
		}
		n++
		got, err := tensor.Decode[float32](nil, v)
		if err != nil || len(got) != len(want)/4 {
			t.Errorf("%s: %d values, %v", name, len(got), err)
			continue
		}
		for i, x := range got {
			w := binary.LittleEndian.Uint32(want[4*i:])
			if !same(x, w) {
				t.Errorf("%s: element %d is %v (%08x), want %v (%08x)", name, i, x, math.Float32bits(x), math.Float32frombits(w), w)
				break
			}
		}
	}
	if n < 25 {
		t.Errorf("%d tensors were compared", n)
	}
}
