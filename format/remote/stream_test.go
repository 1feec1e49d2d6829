package remote

import (
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestStream: tensors that are neighbors in the file come with one request for each buffer.
func TestStream(t *testing.T) {
	const tensors, rows = 16, 4 << 10
	s := serve(t, written(t, "mag", tensors, rows), nil)
	o := quick()
	o.Part = 64 << 20 // so that reads are not divided
	m, err := Open(t.Context(), s.URL, o)
	expect.OK(t, err)
	defer m.Close()
	total := int64(0)
	for _, v := range m.Tensors() {
		total += v.Size()
	}
	before := s.requests.Load()
	ring := [][]byte{make([]byte, total/4), make([]byte, total/4)}
	got := int64(0)
	expect.OK(t, m.Stream(t.Context(), nil, ring, func(p format.Piece) error {
		got += int64(len(p.Data))
		return nil
	}))
	requests := s.requests.Load() - before
	if got != total || requests < 4 || requests > 6 { // some buffers have room for one tensor less
		t.Errorf("%d requests for %d of %d bytes", requests, got, total)
	}
}
