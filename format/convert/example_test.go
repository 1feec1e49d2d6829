package convert_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/tensor"
)

// save writes a model of fc.weight, float32 [2, 2], and fc.bias, float32 [2].
func save() (path string) {
	dir, err := os.MkdirTemp("", "convert")
	if err != nil {
		log.Fatal(err)
	}
	weight, errWeight := tensor.Of("fc.weight", tensor.Shape{2, 2}, []float32{1, -0.5, 0.25, 0.125})
	bias, errBias := tensor.Of("fc.bias", tensor.Shape{2}, []float32{0.5, -1})
	path = filepath.Join(dir, "model.safetensors")
	if err := errors.Join(errWeight, errBias, format.Save(context.Background(), path, nil, []tensor.View{weight, bias}, nil)); err != nil {
		log.Fatal(err)
	}
	return path
}

// Matrices become int8 with a scale for each row. What the target has no place for is left out
// and reported.
func ExampleFile() {
	in := save()
	defer os.RemoveAll(filepath.Dir(in))
	report, err := convert.File(context.Background(), in, filepath.Join(filepath.Dir(in), "model.wia"), &convert.Options{
		Lossy:    true,
		Verify:   true,
		Quantize: convert.Quantized(tensor.QuantizeOptions{PerChannel: true, Axis: convert.OutputAxis}),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range report.Quantized {
		fmt.Printf("%s: %.0f dB\n", q.Name, q.SNR)
	}
	for _, s := range report.Stayed {
		fmt.Println(s.Name+":", s.Why)
	}
	for _, l := range report.Losses {
		fmt.Println("lost", l.Item(), l.Why)
	}
	// Output:
	// fc.weight: 49 dB
	// fc.bias: rank 1
}

// A model for the answer to a request, in another format.
func ExampleWrite() {
	in := save()
	defer os.RemoveAll(filepath.Dir(in))
	m, err := format.Open(in, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	var answer bytes.Buffer
	if _, err := convert.Write(context.Background(), m, &answer, &convert.Options{Write: &format.WriteOptions{Format: gguf.Format{}}}); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", answer.Next(4))
	// Output: "GGUF"
}

// An open model with other names and without its biases, as float16.
func ExampleModel() {
	in := save()
	defer os.RemoveAll(filepath.Dir(in))
	m, err := format.Open(in, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	out := filepath.Join(filepath.Dir(in), "model.gguf")
	if _, err := convert.Model(context.Background(), m, out, &convert.Options{
		Keep:   func(t tensor.Info) bool { return !strings.HasSuffix(t.Name, ".bias") },
		Rename: func(name string) string { return strings.Replace(name, "fc.", "head.", 1) },
		DType:  tensor.Float16,
	}); err != nil {
		log.Fatal(err)
	}
	c, err := format.Open(out, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for _, v := range c.Tensors() {
		fmt.Println(v)
	}
	// Output: "head.weight" float16 [2, 2]
}
