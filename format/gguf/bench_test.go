package gguf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// many writes a file with n tensors of 256 bytes, and a vocabulary of so many
// strings.
func many(b testing.TB, n, words int) string {
	tokens := make([]string, words)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("token%d", i)
	}
	plan := &format.Plan{Metadata: format.Metadata{{Key: "general.architecture", Value: "llama"}, {Key: "tokenizer.ggml.tokens", Value: tokens}}}
	data := map[string][]byte{}
	for i := range n {
		name := fmt.Sprintf("blk.%d.attn_output.weight", i)
		plan.Tensors = append(plan.Tensors, tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{8, 8}})
		data[name] = bytes.Repeat([]byte{byte(i)}, 256)
	}
	path := filepath.Join(b.TempDir(), "many.gguf")
	if err := os.WriteFile(path, write(b, plan, nil, data), 0o666); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkOpen opens files, in terms of mapping them.
func BenchmarkOpen(b *testing.B) {
	for _, c := range []struct {
		name           string
		tensors, words int
	}{{"300", 300, 0}, {"10000", 10_000, 0}, {"300 and 100000 tokens", 300, 100_000}} {
		path := many(b, c.tensors, c.words)
		b.Run(c.name, func(b *testing.B) {
			floor.Pairs(b, floor.Rounds, func() error {
				f, err := Open(path, nil)
				if err != nil {
					return err
				}
				return f.Close()
			}, func() error { return floor.Map(path) })
		})
	}
}

func BenchmarkTokens(b *testing.B) {
	f, err := Open(many(b, 1, 100_000), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.Run("Value", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.Value("tokenizer.ggml.tokens")
		}
	})
	b.Run("Metadata", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.Metadata()
		}
	})
}

// BenchmarkDecode decodes blocks, in terms of copying what comes out, all in cache.
func BenchmarkDecode(b *testing.B) {
	for _, e := range elementTypes {
		if e.encoding == nil || e.encoding.Decode == nil {
			continue
		}
		src, dst := make([]byte, 4096*e.encoding.BlockBytes), make([]float32, 4096*e.encoding.BlockElems)
		b.Run(e.encoding.Name, func(b *testing.B) {
			out := make([]float32, len(dst))
			floor.Pairs(b, floor.Rounds, func() error { return e.encoding.Decode(dst, src) }, func() error { copy(out, dst); return nil })
		})
	}
}

// TestOpenAllocations opens files of very different sizes with as many allocations.
func TestOpenAllocations(t *testing.T) {
	testhost.NeedMaps(t)
	count := func(path string) float64 {
		return testing.AllocsPerRun(10, func() {
			f, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		})
	}
	few, lots := count(many(t, 10, 10)), count(many(t, 5000, 20_000))
	if lots > few+5 || lots > 40 {
		t.Errorf("%v allocations for 10 tensors, %v for 5000", few, lots)
	}
}
