package live_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// A service: the file is replaced while requests are answered.
func Example() {
	path := examplePath()
	defer os.RemoveAll(filepath.Dir(path))
	write(path, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	h, err := live.Open(context.Background(), path, &live.Options{Verify: true, Warm: true, Validate: fits})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	go h.Watch(ctx) // takes what is put at path, once it is whole and verified

	predict := func() error { // for each request
		l, err := h.Acquire() // holds the current model; no lock, no allocation
		if err != nil {
			return err
		}
		defer l.Release()
		v, err := l.Model().Tensor("fc.weight")
		if err != nil {
			return err
		}
		return v.Use(func(b []byte) error {
			fmt.Println("generation", l.Generation(), "says", b)
			return nil
		})
	}
	if err := predict(); err != nil {
		log.Fatal(err)
	}

	write(path, 2)
	if _, err := h.Reload(ctx); err != nil { // instead of waiting for Watch
		log.Fatal(err)
	}
	if err := predict(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// generation 1 says [1 1 1 1]
	// generation 2 says [2 2 2 2]
}

// fits refuses models of other shapes than the program computes with.
func fits(m *format.Model) error {
	v, err := m.Tensor("fc.weight")
	if err != nil {
		return err
	}
	if want := (tensor.Shape{4}); !v.Shape().Equal(want) {
		return fmt.Errorf("%w: %v, not %v", format.ErrShape, v.Shape(), want)
	}
	return nil
}

func examplePath() string {
	dir, err := os.MkdirTemp("", "weightmap-example-")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(dir, "model.mag")
}

// write puts a model of four equal numbers at path, or of more.
func write(path string, numbers ...uint8) {
	data := bytes.Repeat(numbers, 4)
	s := &schema.Schema{Tensors: []tensor.Info{{Name: "fc.weight", DType: tensor.Uint8, Shape: tensor.Shape{int64(len(data))}}}}
	w, err := format.Create(path, s, &format.WriteOptions{NoSync: true, Extended: true, Format: expect.Must(format.ByName("mag"))})
	if err == nil {
		err = w.WriteTensor("fc.weight", bytes.NewReader(data))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		log.Fatal(err)
	}
}

// Prepare builds what requests need of a model, once for each generation.
func ExampleLease_Value() {
	path := examplePath()
	defer os.RemoveAll(filepath.Dir(path))
	write(path, 3)
	h, err := live.Open(context.Background(), path, &live.Options{
		Prepare: func(_ context.Context, m *format.Model) (any, error) {
			v, err := m.Tensor("fc.weight")
			if err != nil {
				return nil, err
			}
			return tensor.Decode[float32](nil, v)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	l, err := h.Acquire()
	if err != nil {
		log.Fatal(err)
	}
	defer l.Release()
	weights := l.Value().([]float32)
	fmt.Println(weights)
	fmt.Println(l.Intact()) // the file was not overwritten while it was read
	// Output:
	// [3 3 3 3]
	// <nil>
}

// A short use of the current model, without a lease to release.
func ExampleHandle_Do() {
	path := examplePath()
	defer os.RemoveAll(filepath.Dir(path))
	write(path, 3)
	h, err := live.Open(context.Background(), path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	err = h.Do(func(m *format.Model) error {
		b, err := m.At(0).Bytes()
		fmt.Println(filepath.Base(h.Path()), b)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	n, err := h.ForceReload(context.Background()) // even if the file is the same
	fmt.Println("generation", n, err)
	s := h.Stats() // also for expvar.Func
	fmt.Println(s.Loads, "loads, overwritten:", s.Overwritten)
	// Output:
	// model.mag [3 3 3 3]
	// generation 2 <nil>
	// 2 loads, overwritten: false
}
