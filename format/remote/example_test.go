//go:build !mips && !mips64 && !ppc64 && !s390x

// A big-endian host has no views of elements of several bytes.

package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/remote"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/mag"
	_ "github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/tensor"
)

// One row of a tensor of a model behind a URL, without fetching the rest.
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

// Some bytes of an object, such as a header, with a limit for the time.
func ExampleReader_ReadAt() {
	url, stop := exampleServer()
	defer stop()
	r, err := remote.NewReaderAt(context.Background(), url, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Cancel()
	magic := make([]byte, 4)
	if _, err := r.ReadAt(magic, 0); err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	again := make([]byte, 4)
	n, err := r.ReadAtContext(ctx, again, 0)
	fmt.Printf("%q %d %v, %d request\n", magic, n, err, r.Stats().Requests)

	// Output: "MAG!" 4 <nil>, 1 request
}

// counter counts the bytes that the model reads. Embedding the Reader keeps its other methods: other files of the model,
// parallel reads, and what else package format looks for.
type counter struct {
	*remote.Reader
	n *atomic.Int64
}

// ReadAt implements io.ReaderAt.
func (c counter) ReadAt(p []byte, off int64) (int, error) {
	return c.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext implements format.ContextReaderAt.
func (c counter) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAtContext(ctx, p, off)
	c.n.Add(int64(n))
	return n, err
}

// A wrapper of a Reader.
func ExampleReader() {
	url, stop := exampleServer()
	defer stop()
	r, err := remote.NewReaderAt(context.Background(), url, nil)
	if err != nil {
		log.Fatal(err)
	}
	c := counter{r, new(atomic.Int64)}
	m, err := format.OpenReaderAt(c, r.Size(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	before := c.n.Load()
	fmt.Println(tensor.Decode[float32](nil, m.At(0)))
	fmt.Println(c.n.Load()-before, "bytes, the name is the URL:", r.ReaderInfo().Path == url)

	// Output:
	// [1 2 3 4] <nil>
	// 16 bytes, the name is the URL: true
}

// blob is an object of a store that this package does not know.
type blob []byte

// Get returns n bytes from off, or fewer at the end.
func (b blob) Get(_ context.Context, off, n int64, _ remote.Version) (remote.Answer, error) {
	end := min(off+n, int64(len(b)))
	return remote.Answer{
		Version: remote.Version{Size: int64(len(b)), Tag: "1", Strong: true},
		Body:    io.NopCloser(bytes.NewReader(b[off:end])),
	}, nil
}

// Anything that returns ranges of bytes can be read with retries and in parallel.
func ExampleNewObjectReaderAt() {
	r, err := remote.NewObjectReaderAt(context.Background(), blob(exampleModel()), nil)
	if err != nil {
		log.Fatal(err)
	}
	m, err := format.OpenReaderAt(r, r.Size(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(tensor.Decode[float32](nil, m.At(0)))

	// Output: [1 2 3 4] <nil>
}

// exampleServer serves a model of one tensor.
func exampleServer() (url string, stop func()) {
	file := exampleModel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file))
	}))
	return s.URL, s.Close
}

// exampleModel returns the bytes of a model of one tensor.
func exampleModel() []byte {
	s := &schema.Schema{Tensors: []tensor.Info{{Name: "fc.weight", DType: tensor.Float32, Shape: tensor.Shape{2, 2}}}}
	var file bytes.Buffer
	w, err := format.NewWriter(&file, s, &format.WriteOptions{Format: mag.Format{}})
	if err == nil {
		err = w.WriteTensor("fc.weight", bytes.NewReader([]byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40}))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		log.Fatal(err)
	}
	return file.Bytes()
}
