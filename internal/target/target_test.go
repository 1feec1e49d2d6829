package target

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/expect"
)

func TestMemoryRefuses(t *testing.T) {
	var m Memory
	for _, off := range []int64{-1, math.MinInt64, math.MaxInt64, math.MaxInt64 - 2} {
		if n, err := m.WriteAt([]byte("abcd"), off); n != 0 || !errors.Is(err, os.ErrInvalid) {
			t.Errorf("WriteAt(%d) = %d, %v", off, n, err)
		}
	}
	if n, err := m.ReadAt(make([]byte, 1), -1); n != 0 || err == nil {
		t.Errorf("ReadAt(-1) = %d, %v", n, err)
	}
}

func TestStream(t *testing.T) {
	var out bytes.Buffer
	s := NewStream(&out)
	if !s.Sequential() {
		t.Error("says it is not sequential")
	}
	write := func(off int64, p string, want error) {
		t.Helper()
		n, err := s.WriteAt([]byte(p), off)
		if !errors.Is(err, want) || want == nil && n != len(p) {
			t.Errorf("WriteAt(%q, %d) = %d, %v", p, off, n, err)
		}
	}
	write(0, "abc", nil)
	write(3, "d", nil)
	write(3, "x", driver.ErrSequential)
	write(0, "", driver.ErrSequential)
	write(6, "e", nil)
	write(7, "", nil)
	expect.OK(t, s.Truncate(9))
	expect.Refused(t, driver.ErrSequential, "going back")(nil, s.Truncate(8))
	expect.Refused(t, driver.ErrSequential, "reading back")(s.ReadAt(make([]byte, 1), 0))
	write(10_000, "f", nil)
	want := append([]byte("abcd\x00\x00e"), make([]byte, 9993)...)
	expect.Equal(t, append(want, 'f'), out.Bytes())
}

// answer is a writer that returns wrong counts.
type answer struct{ more int }

func (a answer) Write(p []byte) (int, error) { return len(p) + a.more, nil }

// TestStreamAnswers: a short or impossible count without an error is an error.
func TestStreamAnswers(t *testing.T) {
	for _, more := range []int{-1, -2, -4, -5000, 1, 5000} {
		s := NewStream(answer{more})
		if n, err := s.WriteAt([]byte("abcd"), 0); !errors.Is(err, io.ErrShortWrite) || n < 0 || n > 4 {
			t.Errorf("%d more: WriteAt = %d, %v", more, n, err)
		}
		expect.Refused(t, io.ErrShortWrite, more, "more: Truncate")(nil, NewStream(answer{more}).Truncate(7))
	}
}

// TestBuffer: any mix of writes, reads and truncations gives the same file
// with and without the buffer.
func TestBuffer(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var plain Memory
		b, err := disk.Create(filepath.Join(t.TempDir(), "f"))
		expect.OK(t, err)
		t.Cleanup(b.Abort)
		off := int64(0)
		for range 60 {
			switch rng.IntN(20) {
			case 0:
				off = int64(rng.IntN(3 * piece))
			case 1, 2, 3:
				off += int64(rng.IntN(8192))
			case 4:
				size := int64(rng.IntN(3 * piece))
				expect.OK(t, b.Truncate(size))
				expect.OK(t, plain.Truncate(size))
				continue
			case 5:
				var got, want [100]byte
				n, _ := b.ReadAt(got[:], off/2)
				m, _ := plain.ReadAt(want[:], off/2)
				if diff := cmp.Diff(want[:m], got[:n]); diff != "" {
					t.Fatalf("seed %d: ReadAt (-want +got):\n%s", seed, diff)
				}
				continue
			}
			n := rng.IntN([]int{10, 1000, piece, 2 * piece}[rng.IntN(4)])
			p := pattern(n + 256)[rng.IntN(256):][:n]
			for _, w := range []driver.Target{b, &plain} {
				if n, err := w.WriteAt(p, off); n != len(p) || err != nil {
					t.Fatalf("WriteAt = %d, %v", n, err)
				}
			}
			off += int64(len(p))
		}
		path := b.Name()
		expect.OK(t, b.Complete())
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(plain.Bytes(), got) {
			t.Fatalf("seed %d: contents differ", seed)
		}
	}
}
