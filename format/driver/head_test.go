package driver

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// headSource is a file of which size bytes are claimed.
type headSource struct {
	Source
	b        []byte
	size     int64
	recorded []byte     // one after the other
	again    [][2]int64 // offsets and sizes of what was read again
	refuses  bool       // to record
}

// numberedSource is a file of which no range is like another.
func numberedSource(size int64) *headSource {
	src := &headSource{b: make([]byte, size), size: size}
	for i := range src.b {
		src.b[i] = byte(i * 7 >> 3 * (i>>16 + 1))
	}
	return src
}

func (s *headSource) Size() int64 { return s.size }

func (s *headSource) ReadAhead(p []byte, off int64) (int, error) {
	return bytes.NewReader(s.b).ReadAt(p, off)
}

func (s *headSource) ReadAgain(p []byte, off int64) (int, error) {
	s.again = append(s.again, [2]int64{off, int64(len(p))})
	return s.ReadAhead(p, off)
}

func (s *headSource) Record(b []byte, off int64) error {
	if s.refuses || off != int64(len(s.recorded)) {
		return errEnd
	}
	s.recorded = append(s.recorded, b...)
	return nil
}

func TestHead(t *testing.T) {
	src := numberedSource(1 << 20)
	o := &ParseOptions{Context: context.Background(), Memory: NewMemory(2 << 20)}
	h := ReadHead(src, o)
	for _, n := range []int64{0, 1, 16 << 10, 17 << 10, 400_000, 400_001, 1 << 20} {
		b, err := h.Need(0, n)
		if err != nil || int64(len(b)) < n || !bytes.Equal(b, src.b[:len(b)]) {
			t.Fatal(n, len(b), err)
		}
		h.Expect(n + 100)
	}
	if _, err := h.Need(0, 1<<20+1); !errors.Is(err, tensor.ErrTruncated) {
		t.Error(err)
	}
	if o.Memory.used.Load() != 1<<20 {
		t.Error(o.Memory.used.Load())
	}
	if err := h.Close(1000); err != nil || len(src.recorded) != 1000 || o.Memory.used.Load() != 0 {
		t.Error(err, len(src.recorded), o.Memory.used.Load())
	}
}

// TestHeadDiscards: the bytes before those that are needed are recorded, and make room.
func TestHeadDiscards(t *testing.T) {
	const size = 8 << 20
	src := numberedSource(size)
	o := &ParseOptions{Context: t.Context(), Memory: NewMemory(1 << 20)}
	h := ReadHead(src, o)
	for at := int64(0); at < size; at += 1000 {
		end := min(at+2000, size)
		b, err := h.Need(at, end)
		expect.OK(t, err)
		if !bytes.Equal(b[:end-at], src.b[at:end]) {
			t.Fatalf("other bytes at %d", at)
		}
	}
	expect.OK(t, h.Close(size-10))
	expect.Equal(t, []any{true, int64(0)}, []any{bytes.Equal(src.recorded, src.b[:size-10]), o.Memory.used.Load()})
	h = ReadHead(src, o)
	defer h.Close(0)
	_, err := h.Need(0, 5000)
	expect.OK(t, err)
	src.refuses = true
	_, err = h.Need(4000, 100_000)
	if err != errEnd {
		t.Errorf("what cannot be recorded: %v", err)
	}
}

// TestReadAgain: what was read before is read again in the pieces in which that is compared, up to
// its end, and is not recorded again.
func TestReadAgain(t *testing.T) {
	src := numberedSource(8 << 20)
	const from, end = 1<<20 - 100, 3<<20 + 100
	m := NewMemory(0)
	h := ReadAgain(src, m, from, end)
	for at := int64(from); at < end; at += 100 {
		next := min(at+100, end)
		b, err := h.Need(at, next)
		expect.OK(t, err)
		if !bytes.Equal(b[:next-at], src.b[at:next]) {
			t.Fatalf("other bytes at %d", at)
		}
	}
	_, err := h.Need(end-100, end+1)
	if !errors.Is(err, tensor.ErrTruncated) {
		t.Errorf("beyond the end: %v", err)
	}
	expect.OK(t, h.Close(end))
	want := [][2]int64{{from, 100}, {1 << 20, 1 << 20}, {2 << 20, 1 << 20}, {3 << 20, 100}}
	expect.Equal(t, []any{want, []byte(nil), int64(0)}, []any{src.again, src.recorded, m.used.Load()})
}

// TestHeadLimits: what a file claims is not allocated before most of it was read, nor beyond a limit.
func TestHeadLimits(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name       string
		size, need int64
		memory     int64
		ctx        context.Context
		want       error
		most       int64
	}{
		{"a claim", 1 << 40, 1 << 30, 0, t.Context(), errEnd, 65 * headStep},
		{"too large", 1 << 40, 1<<30 + 1, 0, t.Context(), tensor.ErrLimit, 0},
		{"memory", 1 << 20, 1 << 19, 100 << 10, t.Context(), tensor.ErrLimit, 0},
		{"canceled", 1 << 20, 1, 0, canceled, context.Canceled, 0},
	} {
		src := &headSource{b: make([]byte, 1<<20), size: tt.size}
		o := &ParseOptions{Context: tt.ctx, Memory: NewMemory(tt.memory)}
		h := ReadHead(src, o)
		_, err := h.Need(0, tt.need)
		if tt.want == errEnd && err == nil || tt.want != errEnd && !errors.Is(err, tt.want) || tt.most > 0 && o.Memory.used.Load() > 64*tt.most {
			t.Errorf("%s: %v with %d bytes", tt.name, err, o.Memory.used.Load())
		}
		_ = h.Close(0)
	}
}

// errEnd stands for any error.
var errEnd = errors.New("any")

func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		places [][2]int64 // offset and size
		off    int64      // of the error
		field  string
	}{
		{"in order", [][2]int64{{8, 4}, {12, 0}, {12, 8}}, -1, ""},
		{"another order", [][2]int64{{12, 8}, {8, 4}, {12, 0}}, -1, ""},
		{"a hole", [][2]int64{{8, 4}, {13, 7}}, 13, `tensor "b"`},
		{"an overlap", [][2]int64{{8, 4}, {11, 9}}, 11, `tensor "b"`},
		{"twice", [][2]int64{{8, 12}, {8, 12}}, 8, `tensor "b"`},
		{"bytes left", [][2]int64{{8, 4}}, 12, "data"},
		{"none", nil, 8, "data"},
	} {
		var x Index
		add(t, &x, "another", 0, 5)
		for i, p := range tt.places {
			add(t, &x, string(rune('a'+i)), p[0], p[1])
		}
		err := x.Covers(1, 8, 20)
		var e *tensor.Error
		if tt.off < 0 && err != nil || tt.off >= 0 && (!errors.As(err, &e) || e.Offset != tt.off || e.Field != tt.field || !errors.Is(err, tensor.ErrCorrupt)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
