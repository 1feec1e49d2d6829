// Package library opens model files with this library and with others, each as its documentation
// says.
package library

import (
	"bytes"
	"context"
	"os"

	"github.com/nlpodyssey/safetensors"
	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
)

// File is a file opened by a library.
type File struct {
	Tensors func() ([]Tensor, error) // nil if the library has no notion of tensors
	Close   func() error             // nil if there is nothing to close
}

// Tensor is a tensor as a library lists it.
type Tensor struct {
	Name    string
	Size    int64                  `json:"-"`
	Read    func() ([]byte, error) `json:"-"`
	Data    []byte                 // what Read returned, little-endian
	Columns bool                   // Data is in Fortran order
	Shape   []int64                // set if Columns
}

// listed returns a file with tensors that need not be closed.
func listed(all []Tensor) File { return File{Tensors: func() ([]Tensor, error) { return all, nil }} }

// Weightmap opens a file with this library. It verifies the file before it lists the tensors.
func Weightmap(path string) (File, error) {
	m, err := format.Open(path, nil)
	if err != nil {
		return File{}, err
	}
	return File{func() (all []Tensor, err error) {
		_, err = m.Verify(context.Background(), nil)
		for name, v := range m.Tensors() {
			all = append(all, Tensor{Name: name, Size: v.Info().Size, Read: func() ([]byte, error) {
				b, err := v.Bytes()
				return bytes.Clone(b), err
			}})
		}
		return all, err
	}, m.Close}, nil
}

// Safetensors opens a file with nlpodyssey/safetensors, which takes its whole content.
func Safetensors(path string) (File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return File{}, err
	}
	s, err := safetensors.Deserialize(b)
	if err != nil {
		return File{}, err
	}
	var all []Tensor
	for _, t := range s.Tensors() {
		b := t.TensorView.Data()
		all = append(all, Tensor{Name: t.Name, Size: int64(len(b)), Read: func() ([]byte, error) { return b, nil }})
	}
	return listed(all), nil
}
