//go:build !mips && !mips64 && !ppc64 && !s390x

// A big-endian host has no views of elements of several bytes.

package wia_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"log"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// model writes a small model with a graph.
func model(o *wia.WriteOptions) []byte {
	meta := wia.ModelMetadata{ModelInfo: wia.ModelInfo{Name: "edge detector", Version: "1.0.0"}}
	pairs, err := meta.Metadata()
	if err != nil {
		log.Fatal(err)
	}
	plan := &format.Plan{
		Metadata: pairs,
		Tensors:  []tensor.Info{{Name: "kernel", DType: tensor.Float32, Shape: tensor.Shape{1, 1, 1, 3}}},
		Graph: &format.Graph{
			Inputs:  []format.ValueInfo{{Name: "image", DType: tensor.Float32, Dims: []format.Dim{{Symbol: "batch", Size: format.DynamicDim}, {Size: 1}, {Size: 28}, {Size: 28}}}},
			Outputs: []format.ValueInfo{{Name: "edges"}},
			Nodes: []format.Node{{Name: "conv", Op: "Conv", Inputs: []string{"image", "kernel"}, Outputs: []string{"edges"},
				Attributes: []format.Attribute{{Name: "kernel_shape", Value: []int64{1, 3}}}}},
		},
	}
	var out bytes.Buffer
	w, err := wia.NewWriter(&out, plan, o)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	kernel := []byte{0, 0, 0x80, 0xbf, 0, 0, 0, 0, 0, 0, 0x80, 0x3f} // -1, 0, 1
	if err := w.WriteTensor("kernel", bytes.NewReader(kernel)); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	return out.Bytes()
}

func Example() {
	f, err := wia.OpenBytes(model(nil), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	meta, err := f.ModelMetadata()
	if err != nil {
		log.Fatal(err)
	}
	v, err := f.Tensor("kernel")
	if err != nil {
		log.Fatal(err)
	}
	kernel, err := tensor.As[float32](v)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(meta.ModelInfo.Name, v.Shape(), kernel)
	// Output: edge detector [1, 1, 1, 3] [-1 0 1]
}

// A signed file is verified against the key of who is trusted.
func ExampleFile_Verify() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	f, err := wia.OpenBytes(model(&wia.WriteOptions{Signer: key}), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	covered, err := f.Verify(context.Background(), format.WithTrustedKey(key.Public()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Signature().Algorithm, covered.Signature(), covered)
	// Output: ECDSA trusted ok
}
