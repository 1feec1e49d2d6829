//go:build !mips && !mips64 && !ppc64 && !s390x

// A big-endian host has no views of elements of several bytes.

package format_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/tensor"
)

// Reading: map a file of any format and view a tensor in it.
func Example_read() {
	path := exampleFile()
	defer os.RemoveAll(filepath.Dir(path))

	m, err := format.Open(path, nil) // detects the format, maps the file
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Verify(context.Background()); err != nil { // every checksum
		log.Fatal(err)
	}
	v, err := m.Tensor("fc.weight")
	if err != nil {
		log.Fatal(err)
	}
	w, err := tensor.As[float32](v) // no copy: valid until Close
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Format(), v.Shape(), w)

	// Output: mag [2, 2] [1 2 3 4]
}

// Writing: say what will come, then stream it. The file appears on Close.
func Example_write() {
	path := examplePath()
	defer os.RemoveAll(filepath.Dir(path))
	data := exampleData

	plan := &format.Plan{Tensors: []tensor.Info{
		{Name: "fc.weight", DType: tensor.Float32, Shape: tensor.Shape{2, 2}},
	}}
	w, err := format.Create("mag", path, plan, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort() // leaves nothing behind; does nothing after Close
	if err := w.WriteTensor("fc.weight", bytes.NewReader(data)); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil { // the file appears now, whole
		log.Fatal(err)
	}
	fmt.Println("written")

	// Output: written
}

// Loading: many slices at once, into memory of the program.
func ExampleModel_Load() {
	path := exampleFile()
	defer os.RemoveAll(filepath.Dir(path))

	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	weights, row := make([]float32, 4), make([]byte, 8)
	err = m.Load(context.Background(), []format.Request{
		{Tensor: "fc.weight", Floats: weights},                                 // decoded, whatever the dtype
		{Tensor: "fc.weight", Slice: []tensor.Range{tensor.At(1)}, Bytes: row}, // the second row
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(weights)
	fmt.Println(row)

	// Output:
	// [1 2 3 4]
	// [0 0 64 64 0 0 128 64]
}

// Saving: slices become a file in one call.
func ExampleSave() {
	path := examplePath()
	defer os.RemoveAll(filepath.Dir(path))

	weight, err := tensor.Of("fc.weight", tensor.Shape{2, 2}, []float32{1, 2, 3, 4}) // not copied
	if err != nil {
		log.Fatal(err)
	}
	if err := format.Save(path, "", weight); err != nil { // the format by the ending
		log.Fatal(err)
	}
	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for _, v := range m.Tensors() {
		fmt.Println(v)
	}

	// Output:
	// "fc.weight" float32 [2, 2]
}

// Metadata: numbers of any type go in, and come out as what the reader wants.
func ExampleMetadata() {
	path := examplePath()
	defer os.RemoveAll(filepath.Dir(path))
	plan := &format.Plan{Metadata: format.Metadata{
		{Key: "epochs", Value: 3}, {Key: "rate", Value: float32(0.5)}, {Key: "labels", Value: []string{"cat", "dog"}},
	}}
	w, err := format.Create("mle", path, plan, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	meta := m.Metadata()
	fmt.Println(meta.Int64("epochs"))
	fmt.Println(meta.Float64("rate"))
	fmt.Println(meta.Strings("labels"))
	fmt.Println(meta.String("rate"))
	fmt.Println(meta.Int64("rate"))
	_, err = meta.Int64("seed")
	fmt.Println(errors.Is(err, format.ErrNotFound))

	// Output:
	// 3 <nil>
	// 0.5 <nil>
	// [cat dog] <nil>
	// 0.5 <nil>
	// 0 metadata "rate": unsupported: 0.5 is not an integer of 64 bits
	// true
}

// exampleData is 1, 2, 3, 4 as little-endian float32.
var exampleData = []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40}

// exampleFile writes a model of one tensor.
func exampleFile() string {
	path := examplePath()
	plan := &format.Plan{Tensors: []tensor.Info{
		{Name: "fc.weight", DType: tensor.Float32, Shape: tensor.Shape{2, 2}},
	}}
	w, err := format.Create("mag", path, plan, nil)
	if err == nil {
		err = w.WriteTensor("fc.weight", bytes.NewReader(exampleData))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		log.Fatal(err)
	}
	return path
}
