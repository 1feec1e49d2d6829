package digest_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/digest"
	_ "github.com/weightmap/weightmap/format/npy"
	_ "github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/tensor"
)

// A model and its copy in another format have the same digest.
func ExampleTensors() {
	dir, err := os.MkdirTemp("", "digest")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	v, err := tensor.Of("w", tensor.Shape{2, 2}, []float32{1, 2, 3, 4})
	if err != nil {
		log.Fatal(err)
	}
	paths := []string{filepath.Join(dir, "m.safetensors"), filepath.Join(dir, "m.npz")}
	if err := format.Save(context.Background(), paths[0], nil, []tensor.View{v}, nil); err != nil {
		log.Fatal(err)
	}
	if _, err := convert.File(context.Background(), paths[0], paths[1], nil); err != nil {
		log.Fatal(err)
	}
	for _, path := range paths {
		m, err := format.Open(path, nil)
		if err != nil {
			log.Fatal(err)
		}
		sum, err := digest.Tensors(context.Background(), m, nil)
		fmt.Printf("%.8x %v\n", sum, err)
		m.Close()
	}
	// Output:
	// 147a0f0e44ec6af1 <nil>
	// 147a0f0e44ec6af1 <nil>
}
