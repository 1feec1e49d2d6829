package tsr_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
)

// write writes the data of all tensors and closes the writer.
func write(w *format.Writer, data map[string][]byte) {
	defer w.Abort() // does nothing after Close
	for name, b := range data {
		if err := w.WriteTensor(name, bytes.NewReader(b)); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
}

// A file holds one tensor, which has the name of the file.
func ExampleFormat() {
	dir, err := os.MkdirTemp("", "tsr")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "bias.tsr")
	s := &schema.Schema{Tensors: []tensor.Info{{Name: "bias", DType: tensor.Int8, Shape: tensor.Shape{3}}}}
	w, err := format.Create(path, s, nil)
	if err != nil {
		log.Fatal(err)
	}
	write(w, map[string][]byte{"bias": {1, 0xfe, 3}})

	f, err := tsr.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	v, err := f.Tensor("bias")
	if err != nil {
		log.Fatal(err)
	}
	values, err := tensor.Decode[int8](nil, v)
	fmt.Println(tsr.TypeName(v.DType()), v.Shape(), values, err)
	// Output: INT8 [3] [1 -2 3] <nil>
}

// A path that ends in a separator, or a schema of several tensors, makes a directory with a file for each tensor. It
// appears when the writer is closed.
func ExampleFormat_directory() {
	dir, err := os.MkdirTemp("", "tsr")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s := &schema.Schema{Tensors: []tensor.Info{
		{Name: "fc.weight", DType: tensor.Int8, Shape: tensor.Shape{2, 2}},
		{Name: "fc.bias", DType: tensor.Int32, Shape: tensor.Shape{2}},
	}}
	w, err := format.Create(filepath.Join(dir, "layer")+"/", s, &format.WriteOptions{Format: tsr.Format{}})
	if err != nil {
		log.Fatal(err)
	}
	write(w, map[string][]byte{"fc.weight": {1, 2, 3, 4}, "fc.bias": make([]byte, 8)})

	f, err := tsr.Open(filepath.Join(dir, "layer"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for name, v := range f.Tensors() {
		fmt.Println(name, v.Shape())
	}
	// Output:
	// fc.bias [2]
	// fc.weight [2, 2]
}
