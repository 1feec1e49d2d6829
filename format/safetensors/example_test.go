package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/tensor"
)

// A file is written from a plan, and read back without a copy.
func ExampleCreate() {
	dir, err := os.MkdirTemp("", "safetensors")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	plan := &format.Plan{
		Metadata: format.Metadata{{Key: "format", Value: "pt"}},
		Tensors:  []tensor.Info{{Name: "fc.weight", DType: tensor.Float32, Shape: tensor.Shape{2, 2}}},
	}
	w, err := safetensors.Create(path, plan, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort() // does nothing after Close
	data, err := binary.Append(nil, binary.LittleEndian, []float32{1, 0.5, 0, -2})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.WriteTensor("fc.weight", bytes.NewReader(data)); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := safetensors.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	v, err := f.Tensor("fc.weight")
	if err != nil {
		log.Fatal(err)
	}
	values, err := tensor.Decode[float32](nil, v)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.DType(), v.Shape(), values, f.Metadata())
	// Output: float32 [2, 2] [1 0.5 0 -2] [{format pt}]
}
