package target

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// pattern returns n bytes of test data.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

// readers has one reader of each kind that Input treats differently.
var readers = map[string]func(data []byte) io.Reader{
	"bytes.Reader":   func(b []byte) io.Reader { return bytes.NewReader(b) },
	"bytes.Buffer":   func(b []byte) io.Reader { return bytes.NewBuffer(bytes.Clone(b)) },
	"strings.Reader": func(b []byte) io.Reader { return strings.NewReader(string(b)) },
	"stream":         func(b []byte) io.Reader { return io.MultiReader(bytes.NewReader(b)) },
	"halves":         func(b []byte) io.Reader { return iotest.HalfReader(bytes.NewReader(b)) },
	"end with data":  func(b []byte) io.Reader { return iotest.DataErrReader(bytes.NewReader(b)) },
}

// ways consume all data of an Input.
var ways = map[string]func(in *Input) ([]byte, error){
	"Each": func(in *Input) (b []byte, err error) {
		err = in.Each(func(p []byte) error {
			if len(p) == 0 || len(p) > piece {
				return errors.New("a piece of odd size")
			}
			b = append(b, p...)
			return nil
		})
		return b, err
	},
	"Read": func(in *Input) ([]byte, error) {
		return io.ReadAll(in)
	},
	"CopyTo": func(in *Input) ([]byte, error) {
		var m Memory
		sum := crc32.NewIEEE()
		err := in.CopyTo(&m, 5, sum)
		if err == nil && len(m.Bytes()) > 5 && sum.Sum32() != crc32.ChecksumIEEE(m.Bytes()[5:]) {
			err = errors.New("the sum saw other bytes")
		}
		return m.Bytes()[min(5, len(m.Bytes())):], err
	},
}

// every runs f for each reader and each way to consume its data.
func every(t *testing.T, f func(t *testing.T, reader func([]byte) io.Reader, take func(*Input) ([]byte, error))) {
	for r, reader := range readers {
		for w, take := range ways {
			t.Run(r+"/"+w, func(t *testing.T) { f(t, reader, take) })
		}
	}
}

// TestInputAgrees: every reader and every way deliver all data.
func TestInputAgrees(t *testing.T) {
	every(t, func(t *testing.T, reader func([]byte) io.Reader, take func(*Input) ([]byte, error)) {
		for _, n := range []int{0, 1, 100, piece - 1, piece, piece + 1, 2*piece + 3, large + overlap} {
			moved := 0
			in := NewInput(context.Background(), reader(pattern(n)), int64(n))
			in.Moved = func(k int64, _ string) { moved += int(k) }
			got, err := take(in)
			if err == nil {
				err = in.Finish()
			}
			if err != nil || !bytes.Equal(got, pattern(n)) || moved != n || in.Size() != int64(n) {
				t.Fatalf("%d bytes: got %d, progress %d, %v", n, len(got), moved, err)
			}
		}
	})
}

// TestInputWrongSize: too little data and too much are errors.
func TestInputWrongSize(t *testing.T) {
	every(t, func(t *testing.T, reader func([]byte) io.Reader, take func(*Input) ([]byte, error)) {
		for _, tt := range []struct {
			have, want int
			err        error
		}{
			{0, 1, tensor.ErrTruncated}, {5, 6, tensor.ErrTruncated}, {piece, piece + 1, tensor.ErrTruncated},
			{1, 0, tensor.ErrShape}, {6, 5, tensor.ErrShape}, {piece + 1, piece, tensor.ErrShape},
		} {
			in := NewInput(context.Background(), reader(pattern(tt.have)), int64(tt.want))
			got, err := take(in)
			if err == nil {
				err = in.Finish()
			}
			if !errors.Is(err, tt.err) {
				t.Errorf("%d bytes for %d: %v, want %v", tt.have, tt.want, err, tt.err)
			}
			if len(got) > tt.want {
				t.Errorf("%d bytes for %d: %d came through", tt.have, tt.want, len(got))
			}
		}
	})
}

// TestInputCanceled: cancellation takes effect between pieces.
func TestInputCanceled(t *testing.T) {
	every(t, func(t *testing.T, reader func([]byte) io.Reader, take func(*Input) ([]byte, error)) {
		ctx, cancel := context.WithCancel(context.Background())
		moved := 0
		in := NewInput(ctx, reader(pattern(3*large)), 3*large)
		in.Moved = func(k int64, _ string) {
			if moved += int(k); moved >= piece {
				cancel()
			}
		}
		got, err := take(in)
		if !errors.Is(err, context.Canceled) || len(got) > large {
			t.Errorf("%v after %d bytes", err, len(got))
		}
	})
}

// TestInputErrors: errors of the reader and of the consumer are returned.
func TestInputErrors(t *testing.T) {
	broken := errors.New("broken")
	for w, take := range ways {
		for _, before := range []int{0, 10, piece} {
			r := io.MultiReader(bytes.NewReader(pattern(before)), iotest.ErrReader(broken))
			in := NewInput(context.Background(), r, int64(before+1))
			expect.Refused(t, broken, w, "after", before, "bytes")(take(in))
		}
	}
	for name, reader := range readers {
		in := NewInput(context.Background(), reader(pattern(10)), 10)
		expect.Refused(t, broken, name, "Each")(nil, in.Each(func([]byte) error { return broken }))
		for _, n := range []int{10, piece} {
			in = NewInput(context.Background(), reader(pattern(n)), int64(n))
			expect.Refused(t, broken, name, "CopyTo of", n, "bytes with a broken sum")(nil, in.CopyTo(&Memory{}, 0, brokenWriter{broken}))
		}
	}
	in := NewInput(context.Background(), io.MultiReader(bytes.NewReader(pattern(5)), iotest.ErrReader(broken)), 5)
	_, err := io.ReadAll(in)
	expect.OK(t, err)
	expect.Refused(t, broken, "an error behind the last byte")(nil, in.Finish())
}

type brokenWriter struct{ err error }

func (b brokenWriter) Write([]byte) (int, error) { return 0, b.err }

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// claims is a reader that returns counts larger than the buffer.
type claims struct{ more int }

func (c claims) Read(p []byte) (int, error) { return len(p) + c.more, nil }

// TestInputAnswers: wrong counts from a reader are errors, also to Finish.
func TestInputAnswers(t *testing.T) {
	expect.Refused(t, io.ErrNoProgress, "Finish")(nil, NewInput(context.Background(), silent{}, 0).Finish())
	for w, take := range ways {
		for _, tt := range []struct {
			name string
			r    io.Reader
			err  error
		}{
			{"nothing for ever", silent{}, io.ErrNoProgress},
			{"nothing after some", io.MultiReader(bytes.NewReader(pattern(10)), silent{}), io.ErrNoProgress},
			{"more than asked for", claims{1}, tensor.ErrCorrupt},
			{"a negative number", claims{math.MinInt}, tensor.ErrCorrupt},
		} {
			expect.Refused(t, tt.err, w, tt.name)(take(NewInput(context.Background(), tt.r, piece+5)))
		}
	}
}
