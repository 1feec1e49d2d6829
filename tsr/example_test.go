package tsr_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
)

// temporary returns a temporary directory and a function that removes it.
func temporary() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "tsr")
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// save writes an INT8 vector to path.
func save(path string, values ...int8) {
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "v", DType: tensor.Int8, Shape: tensor.Shape{int64(len(values))}}}}
	w, err := tsr.Create(path, plan, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	var data []byte
	for _, v := range values {
		data = append(data, byte(v))
	}
	if err := w.WriteTensor("v", bytes.NewReader(data)); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
}

func ExampleOpen() {
	dir, remove := temporary()
	defer remove()
	path := filepath.Join(dir, "bias.tsr")
	save(path, 1, -2, 3)

	f, err := tsr.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	v, err := f.Tensor("bias") // named after the file
	if err != nil {
		log.Fatal(err)
	}
	values, err := tensor.Decode[int8](nil, v)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.DType(), v.Shape(), values)
	// Output: int8 [3] [1 -2 3]
}

func ExampleOpen_directory() {
	dir, remove := temporary()
	defer remove()
	save(filepath.Join(dir, "fc.weight.tsr"), 1, 2, 3, 4, 5, 6)
	save(filepath.Join(dir, "fc.bias.tsr"), 7, 8)

	f, err := tsr.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for name, v := range f.Tensors() {
		fmt.Println(name, v.Shape())
	}
	// Output:
	// fc.bias [2]
	// fc.weight [6]
}

func ExampleCreate() {
	dir, remove := temporary()
	defer remove()
	plan := &format.Plan{Tensors: []tensor.Info{
		{Name: "weight", DType: tensor.Int8, Shape: tensor.Shape{2, 2}},
		{Name: "bias", DType: tensor.Int32, Shape: tensor.Shape{2}},
	}}

	// Two tensors: a directory with a file for each.
	w, err := tsr.Create(filepath.Join(dir, "layer"), plan, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort() // does nothing after Close
	if err := w.WriteTensor("weight", bytes.NewReader([]byte{1, 2, 3, 4})); err != nil {
		log.Fatal(err)
	}
	if err := w.WriteTensor("bias", bytes.NewReader(make([]byte, 8))); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "layer", "*"))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		fmt.Println(filepath.Base(f))
	}
	// Output:
	// bias.tsr
	// weight.tsr
}

// CreateDir writes a directory with a file for each tensor, which appears when the writer is closed.
func ExampleCreateDir() {
	dir, remove := temporary()
	defer remove()
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "bias", DType: tensor.Int32, Shape: tensor.Shape{2}}}}

	w, err := tsr.CreateDir(filepath.Join(dir, "layer"), plan, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	if err := w.WriteTensor("bias", bytes.NewReader(make([]byte, 8))); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	f, err := tsr.Open(filepath.Join(dir, "layer"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for name, v := range f.Tensors() {
		fmt.Println(name, tsr.TypeName(v.DType()))
	}
	// Output: bias INT32
}
