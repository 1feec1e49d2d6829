package mag_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/tensor"
)

// save writes a model of two tensors to a temporary file.
func save() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "mag")
	if err != nil {
		log.Fatal(err)
	}
	path = filepath.Join(dir, "model.mag")
	s := &schema.Schema{
		Metadata: schema.Metadata{{Key: "epochs", Value: int64(20)}, {Key: "accuracy", Value: 0.975}},
		Tensors: []tensor.Info{
			{Name: "embedding", DType: tensor.Float32, Shape: tensor.Shape{2, 2}},
			{Name: "output", DType: tensor.Float32, Shape: tensor.Shape{2, 2}},
		},
	}
	w, err := format.Create(path, s, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort() // does nothing after Close
	for _, t := range s.Tensors {
		data, _ := binary.Append(nil, binary.LittleEndian, []float32{1, 0.5, 0, -2})
		if err := w.WriteTensor(t.Name, bytes.NewReader(data)); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	return path, func() { os.RemoveAll(dir) }
}

func ExampleFile() {
	path, remove := save()
	defer remove()

	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	f, ok := mag.From(m) // which has the methods of this format
	if !ok {
		log.Fatal("not MAG")
	}
	if _, err := f.Verify(context.Background(), nil); err != nil {
		log.Fatal(err)
	}
	meta, err := f.Metadata()
	if err != nil {
		log.Fatal(err)
	}
	epochs, _ := meta.Get("epochs")
	fmt.Println(f.Version(), epochs)
	for name, v := range f.Tensors() {
		weights, err := tensor.Decode[float32](nil, v)
		sum, _ := f.Digest(name)
		fmt.Printf("%s at %d: %v %v, XXH64 %016x\n", name, v.Info().Offset, weights, err, sum)
	}
	// Output:
	// 1 20
	// embedding at 256: [1 0.5 0 -2] <nil>, XXH64 c2ae52754474866e
	// output at 320: [1 0.5 0 -2] <nil>, XXH64 c2ae52754474866e
}

// A snapshot is streamed, here into memory.
func ExampleFrom() {
	s := &schema.Schema{Tensors: []tensor.Info{{Name: "mask", DType: tensor.Bool, Shape: tensor.Shape{3}}}}
	var out bytes.Buffer
	o := &format.WriteOptions{Format: mag.Format{Snapshot: true}, Spool: format.SpoolNever}
	w, err := format.NewWriter(&out, s, o)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	if err := w.WriteTensor("mask", bytes.NewReader([]byte{1, 0, 1})); err != nil {
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
	f, ok := mag.From(m)
	fmt.Println(ok, f.Snapshot(), f.Version(), f.Timestamp(), f.At(0))
	// Output: true true 0.1.0 0 "mask" bool [3]
}

func ExampleOpen() {
	path, remove := save()
	defer remove()

	m, err := mag.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Len(), m.At(1))
	// Output: 2 "output" float32 [2, 2]
}
