package mobi_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
)

// model returns the bytes of a small quantized model.
func model() []byte {
	weights := []float32{0.75, -1, 0.25, 1}
	data, quant, _, err := tensor.Quantize(weights, tensor.Shape{2, 2}, tensor.QuantizeOptions{DType: tensor.Int8})
	if err != nil {
		log.Fatal(err)
	}
	w, err := mobi.NewTensorBytes(0, tensor.Int8, tensor.Shape{2, 2}, data)
	if err != nil {
		log.Fatal(err)
	}
	w.Quant = quant
	b, err := (&mobi.Config{
		Name:      "tiny",
		Inputs:    []mobi.Spec{mobi.NewSpec("x", mobi.Float32, -1, 2)},
		Outputs:   []mobi.Spec{mobi.NewSpec("y", mobi.Float32, -1, 2)},
		Constants: []mobi.Constant{w},
		Operators: []mobi.Operator{
			{Type: mobi.MatMul, Inputs: []uint32{1, 0}, Outputs: []uint32{2}, Params: []mobi.Param{{Name: "transpose", Value: true}}},
		},
	}).Bytes()
	if err != nil {
		log.Fatal(err)
	}
	return b
}

func Example() {
	f, err := mobi.OpenBytes(model(), nil) // or mobi.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(f.Name(), f.Inputs()[0].Name, f.Outputs()[0].Name)
	w, _ := f.Constant(0)
	stored, _ := tensor.As[int8](w) // a view, no copy
	fmt.Println(w.Shape(), stored)
	ops := f.Operators()
	fmt.Println(ops[0].Type, ops[0].Inputs, ops[0].Outputs)
	// Output:
	// tiny x y
	// [2, 2] [95 -127 32 127]
	// MatMul [1 0] [2]
}

func ExampleFile_Graph() {
	f, err := mobi.OpenBytes(model(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	g, err := f.Graph()
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range g.Nodes {
		fmt.Println(n.Op, n.Inputs, n.Outputs)
		for _, a := range n.Attributes {
			fmt.Printf("  %s %.4v\n", a.Name, a.Value)
		}
	}
	// Output:
	// MatMul [x 0] [y]
	//   transpose true
	//   input1_scale 0.007874
}

func ExampleNewWriter() {
	data := []byte{1, 0, 2, 0, 3, 0}
	plan := &format.Plan{
		Metadata: format.Metadata{{Key: "name", Value: "one constant"}, {Key: "creation_timestamp", Value: int64(1_700_000_000)}},
		Tensors:  []tensor.Info{{Name: "42", DType: tensor.Int16, Shape: tensor.Shape{3}}},
	}
	var out bytes.Buffer
	w, err := mobi.NewWriter(&out, plan, &mobi.WriteOptions{Footer: mobi.CRC32})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	if err := w.WriteTensor("42", bytes.NewReader(data)); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(mobi.ValidateBytes(out.Bytes()), out.Len() > 64)
	// Output: <nil> true
}
