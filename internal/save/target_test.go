package save

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
)

// assembled are the targets with random access, and how to see what they hold.
var assembled = map[string]func(t *testing.T) (Target, func() []byte){
	"Memory": func(t *testing.T) (Target, func() []byte) {
		m := &Memory{}
		return m, m.Bytes
	},
	"File": func(t *testing.T) (Target, func() []byte) {
		path := filepath.Join(t.TempDir(), "f")
		f, err := CreateFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return f, func() []byte {
			if err := f.Commit(false); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	},
	"Spool": func(t *testing.T) (Target, func() []byte) {
		s, err := NewSpool()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Remove)
		return s, func() []byte {
			var b bytes.Buffer
			if _, err := s.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
	},
}

// TestTargetsRandom does the same to each target and to a plain slice.
func TestTargetsRandom(t *testing.T) {
	for name, open := range assembled {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 3))
			for range 20 {
				target, contents := open(t)
				if target.Sequential() {
					t.Fatal("says it is sequential")
				}
				var want []byte
				for range 30 {
					want = step(t, r, target, want)
				}
				if d := cmp.Diff(want, append([]byte(nil), contents()...)); d != "" {
					t.Fatalf("(-want +got)\n%s", d)
				}
			}
		})
	}
}

// step does one thing to the target and to its model.
func step(t *testing.T, r *rand.Rand, target Target, want []byte) []byte {
	t.Helper()
	off := r.IntN(300)
	switch r.IntN(4) {
	case 0:
		if err := target.Truncate(int64(off)); err != nil {
			t.Fatal(err)
		}
		return resized(want, off)
	case 1:
		p := make([]byte, 1+r.IntN(60))
		n, err := target.ReadAt(p, int64(off))
		expect := min(len(p), max(0, len(want)-off))
		if n != expect || !bytes.Equal(p[:n], want[min(off, len(want)):min(off, len(want))+n]) || (n < len(p)) != (err == io.EOF) {
			t.Fatalf("ReadAt(%d bytes, %d) of %d = %d, %v", len(p), off, len(want), n, err)
		}
		return want
	}
	p := pattern(1 + r.IntN(60))
	if n, err := target.WriteAt(p, int64(off)); n != len(p) || err != nil {
		t.Fatalf("WriteAt = %d, %v", n, err)
	}
	want = resized(want, max(len(want), off+len(p)))
	copy(want[off:], p)
	return want
}

func resized(b []byte, n int) []byte {
	if n <= len(b) {
		return b[:n:n]
	}
	return append(b[:len(b):len(b)], make([]byte, n-len(b))...)
}

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
	if err := s.Truncate(9); err != nil {
		t.Error(err)
	}
	if err := s.Truncate(8); !errors.Is(err, driver.ErrSequential) {
		t.Errorf("going back = %v", err)
	}
	if _, err := s.ReadAt(make([]byte, 1), 0); !errors.Is(err, driver.ErrSequential) {
		t.Errorf("reading back = %v", err)
	}
	write(10_000, "f", nil)
	want := append([]byte("abcd\x00\x00e"), make([]byte, 9993)...)
	if d := cmp.Diff(append(want, 'f'), out.Bytes()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestStreamErrors: a short write shows, and the position is what was written.
func TestStreamErrors(t *testing.T) {
	broken := errors.New("broken")
	s := NewStream(brokenWriter{broken})
	if _, err := s.WriteAt([]byte("a"), 0); !errors.Is(err, broken) {
		t.Errorf("WriteAt = %v", err)
	}
	if _, err := s.WriteAt([]byte("a"), 7); !errors.Is(err, broken) {
		t.Errorf("WriteAt beyond a gap = %v", err)
	}
	if err := s.Truncate(7); !errors.Is(err, broken) {
		t.Errorf("Truncate = %v", err)
	}
}

// answer is a writer that says so many bytes more than it was given.
type answer struct{ more int }

func (a answer) Write(p []byte) (int, error) { return len(p) + a.more, nil }

// TestStreamAnswers: a writer that takes less than all, or says what cannot be, does so without an error.
func TestStreamAnswers(t *testing.T) {
	for _, more := range []int{-1, -2, -4, -5000, 1, 5000} {
		s := NewStream(answer{more})
		if n, err := s.WriteAt([]byte("abcd"), 0); !errors.Is(err, io.ErrShortWrite) || n < 0 || n > 4 {
			t.Errorf("%d more: WriteAt = %d, %v", more, n, err)
		}
		if err := NewStream(answer{more}).Truncate(7); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%d more: Truncate = %v", more, err)
		}
	}
}
