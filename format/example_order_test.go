package format_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/safetensors"
	_ "github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// Upload a model while it is written: servers want to know the size first, and nothing is spooled.
func ExampleWriter_Order() {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Println(n == r.ContentLength, err)
	}))
	defer server.Close()
	s := &schema.Schema{Tensors: []tensor.Info{
		{Name: "bias", DType: tensor.Int8, Shape: tensor.Shape{4}},
		{Name: "weight", DType: tensor.Float32, Shape: tensor.Shape{2}},
	}}
	data := map[string]string{"bias": "\x01\x02\x03\x04", "weight": "\x00\x00\x80\x3f\x00\x00\x00\x40"}

	r, body := io.Pipe()
	w, err := format.NewWriter(body, s, &format.WriteOptions{Spool: format.SpoolNever, Format: safetensors.Format{}})
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for name := range w.Order() { // not that of the schema: the file has large elements first
			if err := w.WriteTensor(name, strings.NewReader(data[name])); err != nil {
				body.CloseWithError(err)
				return
			}
		}
		body.CloseWithError(w.Close())
	}()
	req, err := http.NewRequest("PUT", server.URL, r)
	if err != nil {
		log.Fatal(err)
	}
	size, ok := w.Size()
	if ok {
		req.ContentLength = size
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	answer.Body.Close()
	// Output: true <nil>
}

// Rank 1 of two loads its half of a matrix, and the whole bias.
func ExampleShardRequests() {
	dir, err := os.MkdirTemp("", "rank")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "m.safetensors")
	weight, err := tensor.Of("up.weight", tensor.Shape{4, 2}, []float32{1, 2, 3, 4, 5, 6, 7, 8})
	if err != nil {
		log.Fatal(err)
	}
	bias, err := tensor.Of("norm.bias", tensor.Shape{2}, []float32{9, 10})
	if err != nil {
		log.Fatal(err)
	}
	if err := format.Save(context.Background(), path, nil, []tensor.View{weight, bias}, nil); err != nil {
		log.Fatal(err)
	}
	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	const rank, size = 1, 2
	rule := func(name string) (axis int, isSplit bool) { return 0, strings.HasPrefix(name, "up.") }
	requests, err := format.ShardRequests(m, rank, size, rule)
	if err != nil {
		log.Fatal(err)
	}
	for i := range requests {
		v, err := m.Tensor(requests[i].Tensor)
		if err != nil {
			log.Fatal(err)
		}
		n := v.Elems()
		if requests[i].Slice != nil {
			n /= size
		}
		requests[i].Floats = make([]float32, n)
	}
	if err := m.Load(context.Background(), requests, nil); err != nil {
		log.Fatal(err)
	}
	for _, q := range requests {
		fmt.Println(q.Tensor, q.Floats)
	}
	// Unordered output:
	// up.weight [5 6 7 8]
	// norm.bias [9 10]
}

// Read the shards of a model one after the other, from front to back.
func ExampleModel_InFileOrder() {
	path := examplePath()
	defer os.RemoveAll(filepath.Dir(path))
	weight, err := tensor.Of("fc.weight", tensor.Shape{2, 2}, []float32{1, 2, 3, 4})
	if err != nil {
		log.Fatal(err)
	}
	if err := format.Save(context.Background(), path, nil, []tensor.View{weight}, nil); err != nil {
		log.Fatal(err)
	}
	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for name, v := range m.InFileOrder() {
		fmt.Println(v.Info().File, name)
	}
	// Output: 0 fc.weight
}
