package npy_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// temporary returns the path of a file in a new directory.
func temporary(name string) string {
	dir, err := os.MkdirTemp("", "npy")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// One array, which is named after its file.
func ExampleFormat() {
	path := temporary("bias.npy")
	defer os.RemoveAll(filepath.Dir(path))
	s := &schema.Schema{Tensors: []tensor.Info{{Name: "bias", DType: tensor.Int16, Shape: tensor.Shape{2}}}}
	w, err := format.Create(path, s, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	if err := errors.Join(w.WriteTensor("bias", bytes.NewReader([]byte{1, 0, 2, 0})), w.Close()); err != nil {
		log.Fatal(err)
	}

	m, err := npy.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	v := m.At(0)
	values, err := tensor.Decode[int16](nil, v)
	fmt.Println(v.Name(), values, err)
	// Output: bias [1 2] <nil>
}

// An archive whose arrays are stored and aligned, so that they can be mapped.
func ExampleArchive() {
	path := temporary("weights.npz")
	defer os.RemoveAll(filepath.Dir(path))
	s := &schema.Schema{Tensors: []tensor.Info{{Name: "mask", DType: tensor.Bool, Shape: tensor.Shape{2}}}}
	w, err := format.Create(path, s, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	if err := errors.Join(w.WriteTensor("mask", bytes.NewReader([]byte{1, 0})), w.Close()); err != nil {
		log.Fatal(err)
	}

	m, err := npy.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Format(), m.At(0), m.At(0).ZeroCopy())
	// Output: npz "mask" bool [2] true
}

// The descr of element types, in both directions.
func ExampleTypeName() {
	name, err := npy.TypeName(tensor.Info{DType: tensor.Float32})
	fmt.Println(name, err)
	dtype, _, err := npy.ParseType("<i8")
	fmt.Println(dtype, err)
	// Output:
	// <f4 <nil>
	// int64 <nil>
}
