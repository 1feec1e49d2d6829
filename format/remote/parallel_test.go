package remote

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestParallel: Load has as many requests under way as Options.Parallel says, and no more.
func TestParallel(t *testing.T) {
	const parallel = 3
	var loading atomic.Bool
	var inside atomic.Int64
	var full sync.Once
	together := make(chan struct{})
	s := serve(t, written(t, "mag", 16, 4<<10), func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if !loading.Load() {
			return false
		}
		defer inside.Add(-1)
		switch now := inside.Add(1); {
		case now == parallel:
			full.Do(func() { time.AfterFunc(10*time.Millisecond, func() { close(together) }) })
		case now > parallel:
			t.Errorf("%d requests at a time", now)
		}
		select {
		case <-together:
		case <-r.Context().Done():
		}
		return false
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := quick()
	o.Parallel = parallel
	m, err := Open(ctx, s.URL, o)
	expect.OK(t, err)
	defer m.Close()
	var requests []format.Request
	for i := 0; i < m.Len(); i += 2 {
		requests = append(requests, format.Request{Tensor: m.At(i).Name(), Bytes: make([]byte, m.At(i).Info().Size)})
	}
	loading.Store(true)
	expect.OK(t, m.Load(ctx, requests, nil))
}
