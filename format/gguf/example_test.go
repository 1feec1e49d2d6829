package gguf_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/tensor"
)

// A file with metadata and a matrix in blocks, and what is
// read of it.
func Example() {
	dir, err := os.MkdirTemp("", "gguf")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.gguf")

	ones := slices.Repeat([]float32{1}, 64)
	data, _, _, err := tensor.Quantize(ones, tensor.Shape{2, 32}, tensor.QuantizeOptions{Encoding: gguf.Q8_0()})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := &format.Plan{
		Metadata: format.Metadata{
			{Key: "general.architecture", Value: "llama"},
			{Key: "llama.block_count", Value: uint32(1)},
			{Key: "tokenizer.ggml.tokens", Value: []string{"<s>", "a", "b"}},
		},
		Tensors: []tensor.Info{{Name: "blk.0.ffn_up.weight", Encoding: gguf.Q8_0(), Shape: tensor.Shape{2, 32}}},
	}
	w, err := gguf.Create(path, plan, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Abort()
	if err := w.WriteTensor("blk.0.ffn_up.weight", bytes.NewReader(data)); err != nil {
		fmt.Println(err)
		return
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}

	f, err := gguf.Open(path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	tokens, _ := f.Value("tokenizer.ggml.tokens")
	fmt.Println(tokens)
	for name, v := range f.Tensors() {
		x, err := tensor.Decode[float32](nil, v)
		if err != nil {
			fmt.Println(err)
			return
		}
		i := v.Info()
		fmt.Println(name, i.TypeName(), i.Shape, i.Size, "bytes, the first is", x[0])
	}
	// Output:
	// [<s> a b]
	// blk.0.ffn_up.weight Q8_0 [2, 32] 68 bytes, the first is 0.99993896
}
