package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/remote"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// remoteVerdicts: Model.Load of 256 tensors that are apart, from a server that takes 20 ms for each request, with 4
// connections relative to 32.
func remoteVerdicts() []verdict {
	return []verdict{{name: "remote/connections", limit: 5.8, least: true, figure: func(b *testing.B) float64 {
		m := Model{"apart", func() (*format.Plan, []byte) {
			p := &format.Plan{}
			for i := range 512 {
				p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprint(i), DType: tensor.Float16, Shape: tensor.Shape{32 << 10}, Size: 64 << 10})
			}
			return p, make([]byte, 512*64<<10)
		}}
		var file bytes.Buffer
		p, data := m.Plan()
		w, err := format.NewWriter("mag", &file, p, nil)
		if err == nil {
			err = feed(w, p, data)
		}
		if err != nil {
			b.Fatal(err)
		}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(20 * time.Millisecond)
			w.Header().Set("Etag", `"model"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file.Bytes()))
		}))
		b.Cleanup(s.Close)
		return floor.PairsOf(b, floor.Rounds, floor.Timed(fetching(b, s.URL, 4)), floor.Timed(fetching(b, s.URL, 32))).Ratio
	}}}
}

// fetching loads every other tensor of a model with so many connections.
func fetching(b *testing.B, url string, connections int) func() error {
	m, err := remote.Open(context.Background(), url, &remote.Options{Parallel: connections})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close() })
	var requests []format.Request
	for i := 0; i < m.Len(); i += 2 {
		v := m.At(i)
		requests = append(requests, format.Request{Tensor: v.Name(), Bytes: make([]byte, v.Info().Size)})
	}
	return func() error { return m.Load(context.Background(), requests, nil) }
}
