package remote

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// server serves one object, counts, and does what a test wants of it instead.
type server struct {
	*httptest.Server
	requests, bytes atomic.Int64

	mu   sync.Mutex
	data []byte
	tag  string
	// wrong is asked first, with the number of the request from 0; it reports whether
	// it has answered.
	wrong func(w http.ResponseWriter, r *http.Request, n int) bool
	held  chan struct{} // closed at the end, so that stalled answers end
}

func serve(t testing.TB, data []byte, wrong func(w http.ResponseWriter, r *http.Request, n int) bool) *server {
	s := &server{data: data, tag: `"one"`, wrong: wrong, held: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(func() {
		close(s.held)
		s.Close()
	})
	return s
}

// replace puts another object in the place of the one that is served.
func (s *server) replace(data []byte, tag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data, s.tag = data, tag
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	n := int(s.requests.Add(1)) - 1
	w = &counted{w, &s.bytes}
	if s.wrong != nil && s.wrong(w, r, n) {
		return
	}
	s.right(w, r)
}

// right is what the server does when nothing is wrong.
func (s *server) right(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	data, tag := s.data, s.tag
	s.mu.Unlock()
	if tag != "" {
		w.Header().Set("ETag", tag)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// hold waits until the client disconnects.
func (s *server) hold(r *http.Request) {
	select {
	case <-s.held:
	case <-r.Context().Done():
	}
}

type counted struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counted) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b))) // before the other side can have them
	return c.ResponseWriter.Write(b)
}

// Unwrap is for http.NewResponseController.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// quick are options with which attempts follow each other without waiting.
func quick() *Options {
	return &Options{Backoff: time.Microsecond, MaxWait: time.Second}
}

// pattern returns bytes that differ wherever they are.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*31 + i>>16*13)
	}
	return b
}

// reader opens data behind a server until the test ends.
func reader(t testing.TB, s *server, o *Options) *Reader {
	t.Helper()
	r, err := NewReaderAt(t.Context(), s.URL, o)
	expect.OK(t, err)
	t.Cleanup(r.Cancel)
	return r
}

// written returns a model of n tensors of so many rows of 64 float32.
func written(t testing.TB, name string, n int, rows int64) []byte {
	t.Helper()
	s := &schema.Schema{}
	for i := range n {
		s.Tensors = append(s.Tensors, tensor.Info{Name: fmt.Sprint(i + 1), DType: tensor.Float32, Shape: tensor.Shape{rows, 64}})
	}
	var out bytes.Buffer
	w, err := format.NewWriter(&out, s, &format.WriteOptions{Format: expect.Must(format.ByName(name))})
	expect.OK(t, err)
	for i, info := range s.Tensors {
		b := pattern(int(rows)*256 + i)[i:]
		expect.OK(t, w.WriteTensor(info.Name, bytes.NewReader(b)))
	}
	expect.OK(t, w.Close())
	return out.Bytes()
}
