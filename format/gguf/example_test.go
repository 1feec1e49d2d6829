package gguf_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// A matrix in blocks, and metadata of the file's own types.
func Example() {
	dir, err := os.MkdirTemp("", "gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.gguf")
	ones := slices.Repeat([]float32{1}, 64)
	data, _, _, err := tensor.Quantize(ones, tensor.Shape{2, 32}, tensor.QuantizeOptions{Encoding: gguf.Q8_0()})
	if err != nil {
		log.Fatal(err)
	}
	w, err := format.Create(path, &schema.Schema{
		Metadata: schema.Metadata{
			{Key: "tokenizer.ggml.tokens", Value: []string{"<s>", "a", "b"}},
			{Key: "llama.block_count", Value: 32},                       // a uint32, as llama.cpp has it
			{Key: "llama.rope.freq_base", Value: gguf.Float64(10000.5)}, // a float64, not a float32
		},
		Tensors: []tensor.Info{{Name: "blk.0.ffn_up.weight", Encoding: gguf.Q8_0(), Shape: tensor.Shape{2, 32}}},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	if err := errors.Join(w.WriteTensor("blk.0.ffn_up.weight", bytes.NewReader(data)), w.Close()); err != nil {
		log.Fatal(err)
	}

	f, err := gguf.Open(path, nil) // with all parts of a split model
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	meta, err := f.Typed()
	if err != nil {
		log.Fatal(err)
	}
	tokens, _ := meta.Get("tokenizer.ggml.tokens")
	fmt.Println(tokens)
	for _, e := range meta[1:] {
		fmt.Printf("%s %T %v\n", e.Key, e.Value, e.Value)
	}
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
	// llama.block_count uint32 32
	// llama.rope.freq_base gguf.Float64 10000.5
	// general.quantization_version uint32 2
	// blk.0.ffn_up.weight Q8_0 [2, 32] 68 bytes, the first is 0.99993896
}

// The types of tensors as ggml names them, and the type of the file as programs show it.
func ExampleTypeName() {
	s := &schema.Schema{
		Metadata: schema.Metadata{{Key: "general.file_type", Value: uint32(15)}},
		Tensors:  []tensor.Info{{Name: "output.weight", Encoding: gguf.Q8_0(), Shape: tensor.Shape{2, 32}}},
	}
	name, err := gguf.TypeName(s.Tensors[0])
	if err != nil {
		log.Fatal(err)
	}
	_, encoding, err := gguf.ParseType("q4_K")
	if err != nil {
		log.Fatal(err)
	}
	number, err := s.Metadata.Int64("general.file_type")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(name, encoding.BlockBytes, gguf.FileType(number))
	f, err := gguf.ParseFileType("Q4_K_M")
	fmt.Println(uint32(f), err)
	// Output:
	// Q8_0 144 Q4_K_M
	// 15 <nil>
}
