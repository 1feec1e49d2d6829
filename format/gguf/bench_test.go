package gguf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
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
