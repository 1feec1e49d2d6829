package mobile_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/mobile"
	"github.com/weightmap/weightmap/tensor"
)

// The calls that an app makes from Java, Kotlin or Swift, here in Go.
func Example() {
	var file bytes.Buffer
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "bias", DType: tensor.Float16, Shape: tensor.Shape{2}}}}
	w, err := format.NewWriter("mag", &file, plan, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := w.WriteTensor("bias", bytes.NewReader([]byte{0, 0x3c, 0, 0xb8})); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	m, err := mobile.OpenBytes(file.Bytes(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	t, err := m.TensorNamed("bias")
	if err != nil {
		log.Fatal(err)
	}
	x, err := t.Float32At(1)
	if err != nil {
		log.Fatal(err)
	}
	b, err := t.Float32Bytes() // of all elements
	fmt.Println(m.Format(), t.DType(), t.Shape(), x, len(b), err)
	// Output: mag float16 2 -0.5 8 <nil>
}
