package gguf_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/tensor"
)

// A matrix in blocks, and what is read of it.
func Example() {
	ones := slices.Repeat([]float32{1}, 64)
	data, _, _, err := tensor.Quantize(ones, tensor.Shape{2, 32}, tensor.QuantizeOptions{Encoding: gguf.Q8_0()})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, &format.Plan{
		Metadata: format.Metadata{{Key: "tokenizer.ggml.tokens", Value: []string{"<s>", "a", "b"}}},
		Tensors:  []tensor.Info{{Name: "blk.0.ffn_up.weight", Encoding: gguf.Q8_0(), Shape: tensor.Shape{2, 32}}},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := w.WriteTensor("blk.0.ffn_up.weight", bytes.NewReader(data)); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := gguf.OpenBytes(file.Bytes(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	tokens, _ := f.Value("tokenizer.ggml.tokens")
	fmt.Println(tokens)
	for name, v := range f.Tensors() {
		x, err := tensor.Decode[float32](nil, v)
		if err != nil {
			log.Fatal(err)
		}
		i := v.Info()
		fmt.Println(name, i.TypeName(), i.Shape, i.Size, "bytes, the first is", x[0])
	}
	// Output:
	// [<s> a b]
	// blk.0.ffn_up.weight Q8_0 [2, 32] 68 bytes, the first is 0.99993896
}

// A file on disk, with metadata of the file's own types.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.gguf")
	w, err := gguf.Create(path, &format.Plan{Metadata: format.Metadata{
		{Key: "general.architecture", Value: "llama"},
		{Key: "llama.block_count", Value: 32},                       // a uint32, as llama.cpp has it
		{Key: "llama.rope.freq_base", Value: gguf.Float64(10000.5)}, // a float64, not a float32
	}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := gguf.Open(path, nil) // with all parts of a split model
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for _, e := range f.Typed() {
		fmt.Printf("%s %T %v\n", e.Key, e.Value, e.Value)
	}
	// Output:
	// general.architecture string llama
	// llama.block_count uint32 32
	// llama.rope.freq_base gguf.Float64 10000.5
}
