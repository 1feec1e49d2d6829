//go:build !mips && !mips64 && !ppc64 && !s390x

// On a big-endian host, data with elements of several bytes has no view.

package wia_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// model writes a small model with a graph, signed if there is a signer, and opens it.
func model(signer crypto.Signer) *wia.File {
	s := &schema.Schema{
		Metadata: schema.Metadata{{Key: "model_info", Value: json.RawMessage(`{"name":"edge detector"}`)}},
		Tensors:  []tensor.Info{{Name: "kernel", DType: tensor.Float32, Shape: tensor.Shape{1, 1, 1, 3}}},
		Graph: &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "image", DType: tensor.Float32, Dims: []schema.Dim{{Symbol: "batch", Size: schema.DynamicDim}, {Size: 1}, {Size: 28}, {Size: 28}}}},
			Outputs: []schema.ValueInfo{{Name: "edges"}},
			Nodes: []schema.Node{{Name: "conv", Op: "Conv", Inputs: []string{"image", "kernel"}, Outputs: []string{"edges"},
				Attributes: []schema.Attribute{{Name: "kernel_shape", Value: []int64{1, 3}}}}},
		},
	}
	var out bytes.Buffer
	w, err := format.NewWriter(&out, s, &format.WriteOptions{Format: wia.Format{}, Signer: signer})
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
	m, err := format.OpenBytes(out.Bytes(), nil)
	if err != nil {
		log.Fatal(err)
	}
	f, _ := wia.From(m)
	return f
}

func Example() {
	f := model(nil)
	defer f.Close()
	meta, err := f.Metadata()
	if err != nil {
		log.Fatal(err)
	}
	info, _ := meta.Get("model_info")
	v, err := f.Tensor("kernel")
	if err != nil {
		log.Fatal(err)
	}
	kernel, err := tensor.As[float32](v)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %v %v\n", info, v.Shape(), kernel)
	// The messages of wia.proto include fields that the neutral graph does not have.
	native, err := f.Native()
	fmt.Println(len(native.Raw) > 0, err)
	// Output:
	// {"name":"edge detector"} [1, 1, 1, 3] [-1 0 1]
	// true <nil>
}

// A signed file is verified with the trusted key. PrivateKey and PublicKey parse keys in PEM form, as
// made by openssl.
func ExampleFile_Verify() {
	generated, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	private, _ := keys.EncodePrivate(generated) // openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256
	public, _ := keys.EncodePublic(generated.Public())
	key, err := wia.PrivateKey(private)
	if err != nil {
		log.Fatal(err)
	}
	trusted, err := wia.PublicKey(public) // openssl pkey -pubout
	if err != nil {
		log.Fatal(err)
	}

	f := model(key)
	defer f.Close()
	covered, err := f.Verify(context.Background(), &format.VerifyOptions{Trusted: format.TrustKey(trusted)})
	fmt.Println(f.Signature().Algorithm, covered.Signature(), covered, err)
	// Output: ECDSA trusted ok <nil>
}

// Opening an encrypted file requires its key.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "wia")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.wia")
	s := &schema.Schema{Metadata: schema.Metadata{{Key: "ir_version", Value: 8}}}
	key := make([]byte, 32) // from a key store
	w, err := format.Create(path, s, &format.WriteOptions{Key: key, Compression: "zstd"})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := wia.Open(path, &format.Options{Key: key})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(f.Encrypted(), f.Compression(), f.OperatorSets(), f.External("kernel"))
	// Output: true zstd [] false
}

// A copy says in words what parts of the model are.
func Example_docs() {
	f := model(nil)
	defer f.Close()
	s, err := f.Schema()
	if err != nil {
		log.Fatal(err)
	}
	s.Docs = []schema.Doc{
		{Path: "graph.nodes[0]", Text: "finds vertical edges"},
		{Path: `tensor "kernel"`, Properties: [][2]string{{"source", "by hand"}}},
	}
	var out bytes.Buffer
	w, err := format.NewWriter(&out, s, &format.WriteOptions{Format: wia.Format{}})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	if err := w.WriteModel(f.Model); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	m, err := format.OpenBytes(out.Bytes(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	s, err = m.Schema()
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range s.Docs {
		fmt.Println(d.Path, d.Name, d.Text, d.Properties)
	}
	// Output:
	// graph.nodes[0] conv finds vertical edges []
	// tensor "kernel" kernel  [[source by hand]]
}
