package safetensors_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// Write a model in shards of at most 16 bytes of tensor data, and open it by its index.
func ExampleFormat() {
	dir, err := os.MkdirTemp("", "safetensors")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	s := &schema.Schema{Tensors: []tensor.Info{
		{Name: "up", DType: tensor.Int8, Shape: tensor.Shape{16}},
		{Name: "down", DType: tensor.Int8, Shape: tensor.Shape{16}},
	}}
	w, err := format.Create(path, s, &format.WriteOptions{MaxShard: 16})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	for _, t := range s.Tensors {
		if err := w.WriteTensor(t.Name, bytes.NewReader(make([]byte, 16))); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	m, err := safetensors.Open(w.Files()[0], nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for _, f := range m.Files() {
		fmt.Println(filepath.Base(f))
	}
	fmt.Println(m.Len(), "tensors")
	// Output:
	// model.safetensors.index.json
	// model-00001-of-00002.safetensors
	// model-00002-of-00002.safetensors
	// 2 tensors
}

// The names that headers have for element types, in both directions.
func ExampleParseType() {
	dtype, _, err := safetensors.ParseType("BF16")
	fmt.Println(dtype, err)
	_, encoding, err := safetensors.ParseType("F8_E8M0") // no DType: scales of blocks
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(encoding.Name, encoding.BlockBytes)
	name, err := safetensors.TypeName(tensor.Info{DType: tensor.Float16})
	fmt.Println(name, err)
	// Output:
	// bfloat16 <nil>
	// F8_E8M0 1
	// F16 <nil>
}
