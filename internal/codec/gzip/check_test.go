package gzip

import (
	"bytes"
	stdgzip "compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/tensor"
)

// member returns a gzip member by the standard library.
func member(t *testing.T, comment string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := stdgzip.NewWriter(&out)
	z.Comment = comment
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// uneven returns bytes that compress a little.
func uneven(n int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.NormFloat64() * 20)
	}
	return b
}

// TestCheck: Check accepts what Decompress accepts, and nothing else.
func TestCheck(t *testing.T) {
	data := uneven(300_000)
	plain := member(t, "", data)
	long := member(t, strings.Repeat("c", 3*step), data)
	flip := func(fromEnd int) []byte {
		b := slices.Clone(plain)
		b[len(b)-fromEnd] ^= 1
		return b
	}
	for _, c := range []struct {
		name string
		src  []byte
		size int
		ok   bool
	}{
		{"plain", plain, len(data), true},
		{"short comment", member(t, "a comment", data), len(data), true},
		{"comment beyond what the library reads", member(t, strings.Repeat("c", 1000), data), len(data), true},
		{"comment beyond a step", long, len(data), true},
		{"comment without end", long[:2*step], len(data), false},
		{"empty", member(t, "", nil), 0, true},
		{"a byte more than expected", plain, len(data) - 1, false},
		{"a byte less", plain, len(data) + 1, false},
		{"second member", slices.Concat(plain, plain), 2 * len(data), false},
		{"second member is empty", slices.Concat(plain, member(t, "", nil)), len(data), false},
		{"a byte behind it", append(slices.Clone(plain), 0), len(data), false},
		{"trailer cut", plain[:len(plain)-1], len(data), false},
		{"half of it", plain[:len(plain)/2], len(data), false},
		{"wrong CRC", flip(8), len(data), false},
		{"wrong length", flip(1), len(data), false},
		{"no gzip", data[:1000], 1000, false},
		{"nothing", nil, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, want := Codec.Decompress(c.src, int64(c.size))
			got := Check(bytes.NewReader(c.src), int64(len(c.src)), int64(c.size))
			if (want == nil) != c.ok || (got == nil) != c.ok {
				t.Errorf("Decompress: %v; Check: %v", want, got)
			}
			if !c.ok && !errors.Is(got, tensor.ErrCorrupt) {
				t.Errorf("Check: %v is not ErrCorrupt", got)
			}
		})
	}
}

// TestCheckSourceError: what the source fails with is not corrupt content.
func TestCheckSourceError(t *testing.T) {
	down := errors.New("the line is down")
	src := member(t, "", uneven(4*step))
	for _, good := range []int64{0, 5, step, 2 * step} {
		r := failing{bytes.NewReader(src), good, down}
		err := Check(r, int64(len(src)), 4*step)
		if !errors.Is(err, down) || errors.Is(err, tensor.ErrCorrupt) {
			t.Errorf("after %d bytes: %v", good, err)
		}
	}
}

// failing reads so many bytes and then fails.
type failing struct {
	io.ReaderAt
	good int64
	err  error
}

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.good {
		n, _ := f.ReaderAt.ReadAt(p[:max(0, min(int64(len(p)), f.good-off))], off)
		return n, f.err
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestCheckMemory: what is checked is not kept.
func TestCheckMemory(t *testing.T) {
	src := member(t, "", make([]byte, 64<<20))
	if err := Check(bytes.NewReader(src), int64(len(src)), 64<<20); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 3 {
		if err := Check(bytes.NewReader(src), int64(len(src)), 64<<20); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("three checks of 64 MiB allocate %d bytes", n)
	}
}
