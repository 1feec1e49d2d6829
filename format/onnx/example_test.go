package onnx_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// A model with its graph. Large tensors go to a file next to it.
func ExampleFormat() {
	dir, err := os.MkdirTemp("", "onnx")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.onnx")
	s := &schema.Schema{
		Tensors: []tensor.Info{{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2, 2}}},
		Graph: &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
			Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
			Nodes:   []schema.Node{{Op: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}},
		},
	}
	w, err := format.Create(path, s, &format.WriteOptions{ExternalFrom: 16})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	if err := errors.Join(w.WriteTensor("w", bytes.NewReader(make([]byte, 16))), w.Close()); err != nil {
		log.Fatal(err)
	}

	f, err := onnx.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(len(f.OperatorSets()), "operator set,", len(f.Files()), "files")
	// Output: 1 operator set, 2 files
}

// The elements of a tensor of strings.
func ExampleFile_Strings() {
	// ir_version 8, opset_import 17, and a graph with the initializer labels: strings "cat" and "dog".
	labels := "\x08\x02\x10\x08" + "\x32\x03cat\x32\x03dog" + "\x42\x06labels"
	graph := "\x2a" + string(rune(len(labels))) + labels
	b := []byte("\x08\x08" + "\x3a" + string(rune(len(graph))) + graph + "\x42\x02\x10\x11")

	m, err := format.OpenBytes(b, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	f, ok := onnx.From(m)
	if !ok {
		log.Fatal("not ONNX")
	}
	fmt.Println(f.Strings("labels"))
	// Output: [cat dog] <nil>
}

// The names of TensorProto.DataType, in both directions.
func ExampleTypeName() {
	name, err := onnx.TypeName(tensor.Info{DType: tensor.Float16})
	fmt.Println(name, err)
	dtype, _, err := onnx.ParseType("DOUBLE")
	fmt.Println(dtype, err)
	// Output:
	// FLOAT16 <nil>
	// float64 <nil>
}
