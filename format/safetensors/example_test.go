package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/tensor"
)

// A file is written from a plan, and read back.
func ExampleNewWriter() {
	var file bytes.Buffer
	w, err := safetensors.NewWriter(&file, &format.Plan{
		Metadata: format.Metadata{{Key: "format", Value: "pt"}},
		Tensors:  []tensor.Info{{Name: "fc.weight", DType: tensor.Float32, Shape: tensor.Shape{2, 2}}},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	data, _ := binary.Append(nil, binary.LittleEndian, []float32{1, 0.5, 0, -2})
	if err := w.WriteTensor("fc.weight", bytes.NewReader(data)); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := safetensors.OpenBytes(file.Bytes(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	v, err := f.Tensor("fc.weight")
	if err != nil {
		log.Fatal(err)
	}
	values, err := tensor.Decode[float32](nil, v)
	fmt.Println(v.DType(), v.Shape(), values, f.Metadata(), err)
	// Output: float32 [2, 2] [1 0.5 0 -2] [{format pt}] <nil>
}
