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
	recorded int
}

func (s *headSource) Size() int64 { return s.size }

func (s *headSource) ReadAhead(p []byte, off int64) (int, error) {
	return bytes.NewReader(s.b).ReadAt(p, off)
}

func (s *headSource) Record(b []byte, _ int64) error { s.recorded = len(b); return nil }

func TestHead(t *testing.T) {
	src := &headSource{b: make([]byte, 1<<20), size: 1 << 20}
	for i := range src.b {
		src.b[i] = byte(i * 7 >> 3)
	}
	o := &ParseOptions{Context: context.Background(), Memory: NewMemory(2 << 20)}
	h := ReadHead(src, o)
	for _, n := range []int64{0, 1, 16 << 10, 17 << 10, 400_000, 400_001, 1 << 20} {
		b, err := h.Need(n)
		if err != nil || int64(len(b)) < n || !bytes.Equal(b, src.b[:len(b)]) {
			t.Fatal(n, len(b), err)
		}
		h.Expect(n + 100)
	}
	if _, err := h.Need(1<<20 + 1); !errors.Is(err, tensor.ErrTruncated) {
		t.Error(err)
	}
	if o.Memory.used.Load() != 1<<20 {
		t.Error(o.Memory.used.Load())
	}
	if err := h.Close(1000); err != nil || src.recorded != 1000 || o.Memory.used.Load() != 0 {
		t.Error(err, src.recorded, o.Memory.used.Load())
	}
}

// TestHeadTake: what is taken stays, whether it is most of what was read or not.
func TestHeadTake(t *testing.T) {
	src := &headSource{b: make([]byte, 3<<20), size: 3 << 20}
	for i := range src.b {
		src.b[i] = byte(i * 7 >> 3)
	}
	o := &ParseOptions{Context: t.Context(), Memory: NewMemory(0)}
	var taken [][]byte
	want := [][]byte{src.b[24:], src.b[100:200], src.b[24 : 2<<20]}
	for _, w := range want {
		h := ReadHead(src, o)
		_, err := h.Need(3 << 20)
		expect.OK(t, err)
		from := int64(bytes.Index(src.b, w[:100]))
		taken = append(taken, h.Take(from, from+int64(len(w))))
		expect.OK(t, h.Close(0))
	}
	clear(src.b)
	other := ReadHead(src, o) // which must not have the memory of another one
	_, err := other.Need(3 << 20)
	expect.OK(t, err)
	for i, b := range taken {
		if len(b) != len(want[i]) || bytes.Count(b, []byte{0}) > len(b)/100 {
			t.Errorf("%d bytes were overwritten", len(b))
		}
	}
	expect.OK(t, other.Close(0))
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
		_, err := h.Need(tt.need)
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
