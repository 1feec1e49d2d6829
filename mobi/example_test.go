package mobi_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
)

// Example writes quantized weights and the operator that consumes them, and reads them.
func Example() {
	weights := []float32{0.75, -1, 0.25, 1}
	data, quant, _, err := tensor.Quantize(weights, tensor.Shape{2, 2}, tensor.QuantizeOptions{DType: tensor.Int8})
	if err != nil {
		log.Fatal(err)
	}
	w, err := tensor.FromInfo(tensor.Info{DType: tensor.Int8, Shape: tensor.Shape{2, 2}, Quant: quant}, data)
	if err != nil {
		log.Fatal(err)
	}
	b, err := (&mobi.Config{
		Name:      "tiny",
		Constants: []mobi.Constant{{ID: 0, Tensor: w}},
		WriteOptions: mobi.WriteOptions{
			Inputs:  []mobi.Spec{mobi.NewSpec("x", mobi.Float32, -1, 2)},
			Outputs: []mobi.Spec{mobi.NewSpec("y", mobi.Float32, -1, 2)},
			Operators: []mobi.Operator{
				{Type: mobi.MatMul, Inputs: []uint32{1, 0}, Outputs: []uint32{2}, Params: []mobi.Param{{Name: "transpose", Value: true}}},
			},
		},
	}).Bytes()
	if err != nil {
		log.Fatal(err)
	}

	m, err := format.OpenBytes(b, nil) // or mobi.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	f, _ := mobi.From(m)
	fmt.Println(f.Name(), f.Inputs()[0].Name, f.Outputs()[0].Name)
	w, _ = f.Constant(0)
	stored, _ := tensor.As[int8](w) // a view, no copy
	fmt.Println(w.Shape(), stored)
	op := f.Operators()[0]
	transpose, _ := op.Param("transpose")
	fmt.Println(op.Type, op.Inputs, op.Outputs, transpose)
	// Output:
	// tiny x y
	// [2, 2] [95 -127 32 127]
	// MatMul [1 0] [2] true
}

// A small model is written in one call; Create streams larger models.
func ExampleConfig() {
	dir, err := os.MkdirTemp("", "mobi")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tiny.mobi")
	bias, err := tensor.Of("bias", tensor.Shape{2}, []float32{0.5, -1})
	if err != nil {
		log.Fatal(err)
	}
	c := &mobi.Config{Name: "tiny", Constants: []mobi.Constant{{ID: 7, Tensor: bias}}}
	c.FrameworkVersion, c.Time = 3, time.Unix(1_700_000_000, 0)
	c.Operators = []mobi.Operator{{Type: mobi.Add, Inputs: []uint32{0, 7}, Outputs: []uint32{1}}}
	if err := c.Save(path); err != nil {
		log.Fatal(err)
	}
	b, err := c.Bytes() // the same file in memory
	fmt.Println(mobi.Validate(path), mobi.ValidateBytes(b), err)

	f, err := mobi.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(f.FrameworkVersion(), f.Timestamp(), f.Header().Version)
	for id, v := range f.Constants() {
		values, err := tensor.Decode[float32](nil, v)
		fmt.Println(id, v.Shape(), values, err)
	}
	// Output:
	// <nil> <nil> <nil>
	// 3 1700000000 1
	// 7 [2] [0.5 -1] <nil>
}

// Tensor names are numbers.
func ExampleCreate() {
	dir, err := os.MkdirTemp("", "mobi")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.mobi")
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "42", DType: tensor.Int8, Shape: tensor.Shape{3}}}}
	w, err := mobi.Create(path, plan, &mobi.WriteOptions{Gzip: 9})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	if err := w.WriteTensor("42", bytes.NewReader([]byte{1, 2, 3})); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Close(), mobi.Validate(path))
	// Output: <nil> <nil>
}

// Operator codes have names.
func ExampleParseOpType() {
	op, ok := mobi.ParseOpType("Conv2D")
	fmt.Println(op, ok, mobi.OpType(99), mobi.OpType(99).Known())
	code, ok := mobi.TypeOf(tensor.Int8)
	fmt.Println(uint16(code), code.DType(), ok)
	// Output:
	// Conv2D true 99 false
	// 2 int8 true
}
