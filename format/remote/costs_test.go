package remote

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// cost is what an operation took of a server.
type cost struct{ requests, bytes int64 }

func (s *server) cost(op func() error) (cost, error) {
	s.requests.Store(0)
	s.bytes.Store(0)
	err := op()
	return cost{s.requests.Load(), s.bytes.Load()}, err
}

// TestCosts counts what opening a large model takes, a row, a tensor, and verifying all of
// it. What is needed is what each of them has in the file.
func TestCosts(t *testing.T) {
	for _, tt := range []struct {
		format   string
		tensors  int // of a megabyte
		opening  cost
		verified int64 // requests at most
	}{
		{"mag", 105, cost{1, 256 << 10}, 110},
		{"mle", 12, cost{1, 256 << 10}, 25},
		{"safetensors", 12, cost{1, 256 << 10}, 25},
		{"gguf", 12, cost{1, 256 << 10}, 25},
		{"mobi", 12, cost{13, 600 << 10}, 30},
		{"onnx", 12, cost{13, 600 << 10}, 30},
		{"wia", 12, cost{13, 600 << 10}, 30},
		{"npz", 12, cost{13, 900 << 10}, 30},
	} {
		t.Run(tt.format, func(t *testing.T) {
			const rows = 4096
			if testhost.Race {
				tt.tensors = min(tt.tensors, 4) // one is as good as another to find races
			}
			data := written(t, tt.format, tt.tensors, rows)
			s := serve(t, data, nil)
			var m *format.Model
			took, err := s.cost(func() (err error) {
				m, err = Open(t.Context(), s.URL, &Options{Open: &format.Options{Check: format.CheckStructure}})
				return err
			})
			expect.OK(t, err)
			defer m.Close()
			if took.requests > tt.opening.requests || took.bytes > tt.opening.bytes {
				t.Errorf("opening takes %+v, want at most %+v", took, tt.opening)
			}
			check := func(what string, need, requests int64, op func() error) {
				took, err := s.cost(op)
				if most := need + need/20; err != nil || took.bytes > most || took.requests > requests {
					t.Errorf("%s takes %+v of %d bytes and %d requests, %v", what, took, need, requests, err)
				}
			}
			v, err := m.Tensor(strconv.Itoa(tt.tensors/2 + 1))
			expect.OK(t, err)
			check("a row", 256, 1, func() error {
				row, err := v.Slice(tensor.At(rows / 2))
				if err != nil {
					return err
				}
				b, err := row.Bytes()
				if want := pattern(rows*256 + tt.tensors)[tt.tensors/2:][rows/2*256:][:256]; err == nil && !bytes.Equal(b, want) {
					t.Error("another row")
				}
				return err
			})
			check("a tensor", v.Info().Size, 1, func() error { _, err := v.Bytes(); return err })
			check("verification", int64(len(data)), tt.verified, func() error { _, err := m.Verify(t.Context(), nil); return err })
		})
	}
}

// TestLargeIndex: an index that is larger than the window takes two requests more.
func TestLargeIndex(t *testing.T) {
	for _, tt := range []struct {
		format   string
		requests int64
	}{{"mag", 3}, {"mle", 3}, {"safetensors", 3}, {"gguf", 3}} {
		t.Run(tt.format, func(t *testing.T) {
			s := serve(t, written(t, tt.format, 5000, 1), nil)
			m, err := Open(t.Context(), s.URL, nil)
			expect.OK(t, err)
			defer m.Close()
			if got := s.requests.Load(); got > tt.requests {
				t.Errorf("%d requests", got)
			}
		})
	}
}
