package mle_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

// Example writes a compressed, signed model and reads it back.
func Example() {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	path := temporary()
	defer os.Remove(path)
	w, err := format.Create(path, small, &format.WriteOptions{Compression: "zstd", Signer: private})
	if err != nil {
		log.Fatal(err)
	}
	finish(w)

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
	state, err := f.CheckSignature(context.Background(), public)
	fmt.Println(state, err)
	// Output:
	// [1 2 3 4] zstd
	// trusted <nil>
}

// small is a model of one tensor.
var small = &schema.Schema{
	Metadata: schema.Metadata{{Key: "epochs", Value: 3}},
	Tensors:  []tensor.Info{{Name: "weight", DType: tensor.Float32, Shape: tensor.Shape{2, 2}}},
	Graph: &schema.Graph{
		Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
		Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
		Nodes:   []schema.Node{{Op: "MatMul", Inputs: []string{"x", "weight"}, Outputs: []string{"y"}}},
	},
}

// temporary returns the path of a new file.
func temporary() string {
	file, err := os.CreateTemp("", "*.mle")
	if err != nil {
		log.Fatal(err)
	}
	file.Close()
	return file.Name()
}

// finish writes the data of the small model.
func finish(w *format.Writer) {
	defer w.Abort()
	data := []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40}
	if err := w.WriteTensor("weight", bytes.NewReader(data)); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
}

// write writes the small model to a temporary file and returns its path.
func write(o *format.WriteOptions) (path string) {
	path = temporary()
	w, err := format.Create(path, small, o)
	if err != nil {
		log.Fatal(err)
	}
	finish(w)
	return path
}

// Sign signs an existing file without encoding its sections again.
func ExampleSign() {
	path := write(nil)
	defer os.Remove(path)

	private, err := privateKey(keyFile)
	if err != nil {
		log.Fatal(err)
	}
	if err := mle.Sign(path, private, nil); err != nil {
		log.Fatal(err)
	}
	m, err := format.Open(path, &format.Options{Trusted: format.TrustKey(private.Public())})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Signature().Algorithm)
	// Output: Ed25519
}

// keyFile is a file that "openssl genpkey -algorithm ed25519" made.
const keyFile = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
`

// privateKey parses the text of such a file.
func privateKey(text string) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("no key in PEM form")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%T, not an Ed25519 key", key)
	}
	return private, nil
}

// File gives access to the header, the graph with its ids, and the text of the metadata.
func ExampleFile() {
	path := write(&format.WriteOptions{Compression: "lz4", Format: mle.Format{Chunked: true}})
	defer os.Remove(path)

	f, err := mle.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	h := f.Header()
	fmt.Println(h.Version, h.Features.Has(mle.Compression), h.Metadata.End() > h.Metadata.Offset)
	if c, ok := f.Compression(); ok {
		fmt.Println(c.Method.Name(), c.Uncompressed, c.Chunks)
	}
	for i, t := range f.IR().Tensors {
		fmt.Println(i, t.Name, t.DType, t.Constant())
	}
	fmt.Printf("%s\n", f.MetadataJSON())
	// Output:
	// 2 true true
	// lz4 16 1
	// 0 x float32 false
	// 1 weight float32 true
	// 2 y float32 false
	// {"epochs":3,"tensor_names":["x","weight","y"]}
}
