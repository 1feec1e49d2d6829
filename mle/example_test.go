package mle_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

// Example writes a compressed, signed model and reads it back.
func Example() {
	dir, err := os.MkdirTemp("", "mle")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.mle")

	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "weight", DType: tensor.Float32, Shape: tensor.Shape{2, 2}}}}
	w, err := mle.Create(path, plan, &mle.WriteOptions{Compression: mle.MethodZstd, Signer: private})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	data := []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40}
	if err := w.WriteTensor("weight", bytes.NewReader(data)); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := mle.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	v, _ := f.Tensor("weight")
	values, err := tensor.Decode[float32](nil, v)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(values, v.Info().Compression)
	status, err := f.CheckSignature(context.Background(), public)
	fmt.Println(status, err)
	// Output:
	// [1 2 3 4] zstd
	// valid <nil>
}
