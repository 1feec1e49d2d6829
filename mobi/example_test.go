package mobi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
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
	w, err := tensor.FromInfo(tensor.Info{Name: "0", DType: tensor.Int8, Shape: tensor.Shape{2, 2}, Quant: quant}, data)
	if err != nil {
		log.Fatal(err)
	}
	var out bytes.Buffer
	batch := schema.FixedDims(schema.DynamicDim, 2)
	tiny := &schema.Schema{
		Metadata: schema.Metadata{{Key: "name", Value: "tiny"}},
		Tensors:  []tensor.Info{w.Info()},
		Graph: &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: batch}},
			Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: batch}},
			Nodes: []schema.Node{{Op: "MatMul", Inputs: []string{"x", "0"}, Outputs: []string{"y"},
				Attributes: []schema.Attribute{{Name: "transpose", Value: true}}}},
		},
	}
	o := &format.WriteOptions{Format: mobi.Format{}}
	err = format.Write(context.Background(), &out, tiny, []tensor.View{w}, o)
	if err != nil {
		log.Fatal(err)
	}

	m, err := format.OpenBytes(out.Bytes(), nil) // or mobi.Open(path, nil)
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

// Tensor names are numbers.
func ExampleFormat() {
	dir, err := os.MkdirTemp("", "mobi")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.mobi")
	s := &schema.Schema{Tensors: []tensor.Info{{Name: "42", DType: tensor.Int8, Shape: tensor.Shape{3}}}}
	o := &format.WriteOptions{
		Format:      mobi.Format{FrameworkVersion: 3},
		Compression: "gzip",
		Level:       9,
		Time:        time.Unix(1_700_000_000, 0),
	}
	w, err := format.Create(path, s, o)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	if err := errors.Join(w.WriteTensor("42", bytes.NewReader([]byte{1, 2, 3})), w.Close()); err != nil {
		log.Fatal(err)
	}

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
	// 3 1700000000 1
	// 42 [3] [1 2 3] <nil>
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
