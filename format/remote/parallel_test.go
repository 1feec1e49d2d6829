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

// wrapper counts the reads of a Reader. It has the other methods of the Reader by embedding it.
type wrapper struct {
	*Reader
	reads *atomic.Int64
}

func (w wrapper) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	w.reads.Add(1)
	return w.Reader.ReadAtContext(ctx, p, off)
}

// TestWrapped is ../shared/cases/core/wrapped_reader.go.txt: a wrapper that embeds a Reader is as fast as what it wraps.
func TestWrapped(t *testing.T) {
	var reads atomic.Int64
	parallelLoad(t, func(ctx context.Context, address string, o *Options) (*format.Model, error) {
		r, err := NewReaderAt(ctx, address, o)
		if err != nil {
			return nil, err
		}
		return format.OpenReaderAt(wrapper{r, &reads}, r.Size(), nil)
	})
	if reads.Load() == 0 {
		t.Error("the methods of the wrapper were not used")
	}
}

// TestParallel: Load has as many requests under way as Options.Parallel says, and no more.
func TestParallel(t *testing.T) { parallelLoad(t, Open) }

func parallelLoad(t *testing.T, open func(context.Context, string, *Options) (*format.Model, error)) {
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
	m, err := open(ctx, s.URL, o)
	expect.OK(t, err)
	defer m.Close()
	var requests []format.Request
	for i := 0; i < m.Len(); i += 2 {
		requests = append(requests, format.Request{Tensor: m.At(i).Name(), Bytes: make([]byte, m.At(i).Info().Size)})
	}
	loading.Store(true)
	expect.OK(t, m.Load(ctx, requests, nil))
}
