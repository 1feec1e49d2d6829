package gguf_test

import (
	"bytes"
	"fmt"
	"log"
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
