package remote

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestChaos reads with several goroutines from a server that does anything wrong at random, and at some time
// serves another object: every read is right or an error, and ends. WEIGHTMAP_ROUNDS sets
// how many servers there are.
func TestChaos(t *testing.T) {
	rounds := 10
	if said, err := strconv.Atoi(os.Getenv("WEIGHTMAP_ROUNDS")); err == nil {
		rounds = said
	}
	one, two := pattern(200_000), pattern(200_001)[1:]
	var good, changed, failed int
	for round := range rounds {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(1, uint64(round)))
		draw := func(n int) int {
			mu.Lock()
			defer mu.Unlock()
			return random.IntN(n)
		}
		var s *server
		s = serve(t, one, func(w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 60 {
				s.replace(two, `"two"`)
			}
			return n > 0 && misbehave(s, w, r, draw(14), draw(5000))
		})
		o := &Options{
			Window: 1 + draw(5000), Part: 1 + draw(30_000), Parallel: 1 + draw(8), Retries: draw(6),
			Backoff: time.Microsecond, MaxWait: time.Millisecond, Stall: 20 * time.Millisecond,
		}
		r, err := NewReaderAt(t.Context(), s.URL, o)
		for err != nil { // the first answer is right, but a busy machine may take it for stalled
			if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrAnswer) {
				t.Fatal(err)
			}
			r, err = NewReaderAt(t.Context(), s.URL, o)
		}
		if draw(2) == 0 {
			r.Parsed()
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range 10 {
					off := draw(len(one))
					p := make([]byte, 1+draw(len(one)-off))
					_, err := r.ReadAt(p, int64(off))
					mu.Lock()
					switch {
					case err == nil && !bytes.Equal(p, one[off:][:len(p)]):
						t.Errorf("round %d: other bytes at %d", round, off)
					case err == nil:
						good++
					case errors.Is(err, ErrChanged):
						changed++
					case errors.Is(err, ErrUnavailable) || errors.Is(err, ErrAnswer):
						failed++
					default:
						t.Errorf("round %d: %v", round, err)
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
	}
	t.Logf("%d reads were right, %d found another object, %d failed", good, changed, failed)
	if good == 0 || changed == 0 || failed == 0 {
		t.Error("not everything happened")
	}
}

// misbehave answers wrongly in one of some ways, or not at all.
func misbehave(s *server, w http.ResponseWriter, r *http.Request, way, n int) bool {
	switch way {
	case 0:
		w.WriteHeader(http.StatusServiceUnavailable)
	case 1:
		panic(http.ErrAbortHandler)
	case 2, 3, 4:
		s.right(&cutting{w, 1 + n}, r)
	case 5:
		s.right(&stalling{w, s, r, n}, r)
	case 6:
		r.Header.Del("If-Range")
		s.right(w, r)
	case 7:
		// The range before the one that was asked for.
		var first, last int64
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last)
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", max(0, first-1), max(0, last-1)))
		s.right(w, r)
	default:
		return false
	}
	return true
}

// stalling waits after so many bytes until nobody listens.
type stalling struct {
	http.ResponseWriter
	s    *server
	r    *http.Request
	left int
}

func (s *stalling) Write(b []byte) (int, error) {
	n := min(len(b), s.left)
	if k, err := s.ResponseWriter.Write(b[:n]); err != nil || n == len(b) {
		s.left -= n
		return k, err
	}
	_ = http.NewResponseController(s.ResponseWriter).Flush()
	s.s.hold(s.r)
	return 0, errors.New("nobody listens")
}

func (s *stalling) Unwrap() http.ResponseWriter { return s.ResponseWriter }
