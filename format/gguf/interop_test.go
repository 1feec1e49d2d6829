package gguf

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
