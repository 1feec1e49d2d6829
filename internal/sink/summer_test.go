package sink

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestParallelSums: large data in memory have the same sum as any others, and
// the reader is used up.
func TestParallelSums(t *testing.T) {
	for _, n := range []int{large - 1, large, large + 1, 3*large + 7} {
		for name, reader := range readers {
			in := NewInput(context.Background(), reader(pattern(n)), int64(n), nil)
			a, b := crc32.NewIEEE(), crc32.New(crc32.MakeTable(crc32.Castagnoli))
			err := in.CopyTo(&Memory{}, 0, io.MultiWriter(a, b))
			if err == nil {
				err = in.Finish()
			}
			if err != nil || a.Sum32() != tensor.CRC32(pattern(n)) || b.Sum32() != tensor.CRC32C(pattern(n)) {
				t.Errorf("%s of %d bytes: %x and %x, %v", name, n, a.Sum32(), b.Sum32(), err)
			}
		}
	}
}

// TestParallelSumsFail: the first error of either side is returned, and only when
// the other side has let go of the memory.
func TestParallelSumsFail(t *testing.T) {
	const n = 4 * large
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, tt := range map[string]struct {
		ctx    context.Context
		target Target
		sum    *slowSum
		want   error
	}{
		"sum":      {context.Background(), &Memory{}, &slowSum{err: broken}, broken},
		"target":   {context.Background(), brokenTarget{broken}, &slowSum{}, broken},
		"canceled": {ctx, &Memory{}, &slowSum{}, context.Canceled},
	} {
		in := NewInput(tt.ctx, bytes.NewReader(pattern(n)), n, nil)
		err := in.CopyTo(tt.target, 0, tt.sum)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		tt.sum.late = true // a race, should the goroutine still run
	}
	func() {
		defer func() {
			if recover() != broken {
				t.Error("the panic changed")
			}
		}()
		sum := &slowSum{}
		defer func() { sum.late = true }()
		in := NewInput(context.Background(), bytes.NewReader(pattern(n)), n, nil)
		in.CopyTo(panickingTarget{broken}, 0, sum)
	}()
}

// slowSum lets others run before it looks at its fields.
type slowSum struct {
	err  error
	late bool
}

func (s *slowSum) Write(p []byte) (int, error) {
	runtime.Gosched()
	if s.late {
		panic("summing after CopyTo returned")
	}
	return len(p), s.err
}

type brokenTarget struct{ err error }

func (b brokenTarget) WriteAt([]byte, int64) (int, error) { return 0, b.err }
func (b brokenTarget) ReadAt([]byte, int64) (int, error)  { return 0, b.err }
func (b brokenTarget) Truncate(int64) error               { return b.err }
func (b brokenTarget) Sequential() bool                   { return false }

type panickingTarget struct{ v any }

func (p panickingTarget) WriteAt([]byte, int64) (int, error) { panic(p.v) }
func (p panickingTarget) ReadAt([]byte, int64) (int, error)  { panic(p.v) }
func (p panickingTarget) Truncate(int64) error               { panic(p.v) }
func (p panickingTarget) Sequential() bool                   { return false }

// TestSumOfTruncatedMapping copies out of a file that was cut short: whoever touches the
// missing memory, the process lives.
func TestSumOfTruncatedMapping(t *testing.T) {
	testhost.NeedCuts(t)
	for _, n := range []int{large / 2, 4 * large} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, pattern(n), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := source.Open(path, source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := os.Truncate(path, int64(n/2)); err != nil {
			t.Fatal(err)
		}
		buffer := NewBuffer(&Memory{})
		defer buffer.Release()
		for name, target := range map[string]Target{"memory": &Memory{}, "nowhere": nowhere{}, "a buffer": buffer} {
			err := r.Guard(func() error {
				in := NewInput(context.Background(), bytes.NewReader(r.Bytes()), int64(n), nil)
				return in.CopyTo(target, 0, crc32.NewIEEE())
			})
			if !errors.Is(err, tensor.ErrTruncated) {
				t.Errorf("%d bytes to %s: %v, want ErrTruncated", n, name, err)
			}
		}
	}
}

// nowhere takes data without looking at them.
type nowhere struct{ brokenTarget }

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
