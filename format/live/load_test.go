package live

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// rounds is how often a file is replaced: n times, fewer where tests are to be short, or as WEIGHTMAP_ROUNDS says.
func rounds(n int) int {
	if said, err := strconv.Atoi(os.Getenv("WEIGHTMAP_ROUNDS")); err == nil {
		return said
	}
	if testing.Short() {
		return n / 10
	}
	return n
}

// TestReloadUnderLoad: eight goroutines predict without a pause while the file is replaced. Every
// answer belongs to one generation, none fails, and nothing is left.
func TestReloadUnderLoad(t *testing.T) {
	testhost.NeedReplace(t)
	h, path := start(t, demanding())
	underLoad(t, &swapper{h: h, path: path, put: replace}, rounds(500))
	if n, size := mapped(t, filepath.Dir(path)), h.Stats().Mapped; n >= 0 && (n < size || n > size+int64(os.Getpagesize())) {
		t.Errorf("%d bytes are mapped, the model has %d", n, size)
	}
}

// TestOverwriteUnderLoad is the same with a file that is mostly overwritten in place, which copies survive.
func TestOverwriteUnderLoad(t *testing.T) {
	testhost.NeedReplace(t)
	o := demanding()
	o.Open.Private = true
	h, path := start(t, o)
	random := rand.New(rand.NewPCG(3, 4))
	underLoad(t, &swapper{h: h, path: path, put: func(t testing.TB, path string, b []byte) {
		if random.IntN(3) == 0 {
			replace(t, path, b)
		} else {
			overwrite(t, path, b)
		}
	}}, rounds(400))
	if n := mapped(t, filepath.Dir(path)); n > 0 {
		t.Errorf("%d bytes of the file itself are mapped", n)
	}
	if n := h.Stats().Overwrites; n != 0 {
		t.Errorf("copies were overwritten %d times", n)
	}
}

func underLoad(t *testing.T, s *swapper, rounds int) {
	if runtime.GOOS == "js" {
		t.Skip("files are read here when no goroutine has anything to do")
	}
	h := s.h
	s.good, s.bads, s.random = 1, bads(t), rand.New(rand.NewPCG(1, 2))
	files := len(testhost.OpenFiles())
	if files == 0 {
		t.Log("the system does not tell which files are open: they are not counted")
	}
	var crowd sync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		crowd.Go(func() {
			client(t, h, stop)
		})
	}
	for range rounds {
		if err := s.step(t); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	crowd.Wait()
	for h.Stats().Old > 0 {
		time.Sleep(time.Millisecond)
	}
	stats := h.Stats()
	if stats.Generation != uint64(s.good) || stats.Failures != uint64(s.refused) || stats.Leases != 0 {
		t.Errorf("%d good files and %d bad ones: %+v", s.good, s.refused, stats)
	}
	if n := len(testhost.OpenFiles()); n != files {
		t.Errorf("%d descriptors, %d before", n, files)
	}
	t.Logf("%d good files, %d refused", s.good, s.refused)
}

// client predicts until it is told to stop: the number of the generation is what its model says, and
// never one from before.
func client(t *testing.T, h *Handle, stop <-chan struct{}) {
	last := uint64(0)
	for n := 0; ; n++ {
		select {
		case <-stop:
			if n == 0 {
				t.Error("nothing was predicted")
			}
			return
		default:
		}
		if err := request(h, &last); err != nil {
			t.Error(err)
			return
		}
		runtime.Gosched() // let who replaces the file have a processor
	}
}

func request(h *Handle, last *uint64) error {
	l, err := h.Acquire()
	if err != nil {
		return err
	}
	defer l.Release()
	value, err := predict(l.Model())
	switch g := l.Generation(); {
	case err != nil:
		return err
	case value != float32(g) || g < *last:
		return fmt.Errorf("generation %d after %d says %v", g, *last, value)
	}
	*last = l.Generation()
	return nil
}

// swapper replaces the file of a handle. Every good file has the number of its generation as value.
type swapper struct {
	h             *Handle
	path          string
	put           func(t testing.TB, path string, b []byte)
	bads          []bad
	good, refused int
	random        *rand.Rand
}

// step replaces the file once, by a good one or a bad one.
func (s *swapper) step(t *testing.T) error {
	if s.random.IntN(3) == 0 {
		bad := s.bads[s.random.IntN(len(s.bads))]
		s.put(t, s.path, bad.bytes)
		s.refused++
		if n, err := s.h.Reload(t.Context()); n != uint64(s.good) || !errors.Is(err, bad.want) || !s.h.Stats().Stale {
			return fmt.Errorf("%s: generation %d, %v, want %v; %+v", bad.name, n, err, bad.want, s.h.Stats())
		}
		return nil
	}
	s.good++
	s.put(t, s.path, bytesOf(t, model{value: float32(s.good)}))
	if n, err := s.h.Reload(t.Context()); n != uint64(s.good) || err != nil || s.h.Stats().Stale {
		return fmt.Errorf("generation %d, %w, want %d", n, err, s.good)
	}
	return nil
}

// mapped adds up the mappings of files below a directory, -1 where nothing says.
func mapped(t *testing.T, dir string) int64 {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil || !testhost.Maps() {
		t.Log("mappings are not counted:", err)
		return -1
	}
	dir = testhost.Resolved(dir)
	n := int64(0)
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, dir) {
			continue
		}
		var from, to int64
		_, err := fmt.Sscanf(line, "%x-%x", &from, &to)
		expect.OK(t, err)
		n += to - from
	}
	return n
}
