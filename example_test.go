//go:build !mips && !mips64 && !ppc64 && !s390x

// On a big-endian host, data with elements of several bytes has no view.

package weightmap_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/tensor"
)

// A program saves a tensor, maps the file and uses the weights where they lie.
func Example() {
	dir, err := os.MkdirTemp("", "weightmap")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	bias, err := tensor.Of("fc.bias", tensor.Shape{3}, []float32{0.25, -1, 2})
	if err != nil {
		log.Fatal(err)
	}
	if err := format.Save(context.Background(), path, nil, []tensor.View{bias}, nil); err != nil {
		log.Fatal(err)
	}

	m, err := format.Open(path, nil) // maps the file and reads its index
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	v, err := m.Tensor("fc.bias")
	if err != nil {
		log.Fatal(err)
	}
	weights, err := tensor.As[float32](v) // a slice of the mapping, valid until Close
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Name(), v.DType(), v.Shape(), weights)
	// Output: fc.bias float32 [3] [0.25 -1 2]
}
