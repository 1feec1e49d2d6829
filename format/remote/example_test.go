//go:build !mips && !mips64 && !ppc64 && !s390x

// A big-endian host has no views of elements of several bytes.

package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/remote"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/tensor"
)

// A model behind a URL: a row of a tensor, without the rest.
func Example() {
	url, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	m, err := remote.Open(ctx, url, &remote.Options{Open: &format.Options{CacheBytes: 64 << 20}}) // fetches the structure
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close() // ends what is still being fetched
	v, err := m.Tensor("fc.weight")
	if err != nil {
		log.Fatal(err)
	}
	row, err := v.Slice(tensor.At(1)) // fetches nothing yet
	if err != nil {
		log.Fatal(err)
	}
	w, err := tensor.As[float32](row) // fetches the bytes of the row, ErrChanged if the object was replaced
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Format(), v.Shape(), w)

	// Output: mag [2, 2] [3 4]
}

// The type of one format takes its OpenReaderAt, and a Reader counts.
func ExampleNewReaderAt() {
	url, stop := exampleServer()
	defer stop()

	r, err := remote.NewReaderAt(context.Background(), url, nil)
	if err != nil {
		log.Fatal(err)
	}
	f, err := mag.OpenReaderAt(r, r.Size(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(f.Len(), "tensor,", r.Stats().Requests, "request")

	// Output: 1 tensor, 1 request
}

// exampleServer has a model of one tensor.
func exampleServer() (url string, stop func()) {
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "fc.weight", DType: tensor.Float32, Shape: tensor.Shape{2, 2}}}}
	var file bytes.Buffer
	w, err := format.NewWriter("mag", &file, plan, nil)
	if err == nil {
		err = w.WriteTensor("fc.weight", bytes.NewReader([]byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40}))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		log.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file.Bytes()))
	}))
	return s.URL, s.Close
}
