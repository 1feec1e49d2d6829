package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
)

// BenchmarkRemote compares what is done with a model of 100 MB behind HTTP with getting the same bytes by
// plain requests, over loopback; and with a server that is 20 ms away, which
// says what requests at the same time are worth.
func BenchmarkRemote(b *testing.B) {
	const tensors, rows = 25, 16 << 10 // 4 MiB each
	data := written(b, "mag", tensors, rows)
	for _, at := range []struct {
		name string
		away time.Duration
	}{{"loopback", 0}, {"20 ms away", 20 * time.Millisecond}} {
		s := serve(b, data, func(http.ResponseWriter, *http.Request, int) bool {
			time.Sleep(at.away)
			return false
		})
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
		o := &Options{Client: client}
		r := reader(b, s, o)
		m, err := format.OpenReaderAt(r, r.Size(), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer m.Close()
		buf := make([]byte, len(data))
		get := func(n int) func() error {
			return func() error {
				req, err := http.NewRequest(http.MethodGet, s.URL, nil)
				if err != nil {
					return err
				}
				req.Header.Set("Range", fmt.Sprintf("bytes=0-%d", n-1))
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				_, err = io.ReadFull(resp.Body, buf[:n])
				return err
			}
		}
		for _, c := range []struct {
			name      string
			op, floor func() error
		}{
			{"open", func() error {
				m, err := Open(context.Background(), s.URL, o)
				if err != nil {
					return err
				}
				return m.Close()
			}, get(256 << 10)},
			{"tensor", func() error {
				_, err := m.At(tensors / 2).ReadInto(buf)
				return err
			}, get(rows * 256)},
			{"all", func() error {
				_, err := r.ReadAt(buf, 0)
				return err
			}, get(len(data))},
			{"verify", func() error {
				_, err := m.Verify(context.Background())
				return err
			}, get(len(data))},
		} {
			b.Run(at.name+"/"+c.name, func(b *testing.B) { floor.Pairs(b, c.op, c.floor) })
		}
	}
}
