package remote

import (
	"net/http"
	"strings"
	"testing"
)

// TestHeaderLimit: an answer with a header of more than 64 KiB is refused.
func TestHeaderLimit(t *testing.T) {
	for _, tt := range []struct {
		size   int
		refuse bool
	}{{mostHeader / 2, false}, {2 * mostHeader, true}} {
		s := serve(t, make([]byte, 1000), func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("X-Long", strings.Repeat("x", tt.size))
			return false
		})
		_, err := NewReaderAt(t.Context(), s.URL, &Options{Retries: 1})
		if (err != nil) != tt.refuse {
			t.Errorf("a header of %d bytes: %v", tt.size, err)
		}
	}
}

// TestKept: what is fetched ahead takes at most nine windows, the first window and eight of pieces.
func TestKept(t *testing.T) {
	const window = 1000
	w := &windows{pieces: []piece{{0, make([]byte, window)}}}
	for i := range 100 {
		w.keep(piece{int64(i), make([]byte, 1+i*37%(mostPiece*window))}, mostKept*window)
		total := 0
		for _, p := range w.pieces {
			total += len(p.data)
		}
		if total > 9*window || len(w.pieces[0].data) != window {
			t.Fatalf("%d bytes in %d pieces", total, len(w.pieces))
		}
	}
}
