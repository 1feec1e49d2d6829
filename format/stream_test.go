package format

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// section is data that is compressed as a whole, of some tensors.
type section struct {
	at     []int64
	data   []byte
	passes int
}

// SectionAt implements driver.Section.
func (s *section) SectionAt(i int) int64 { return s.at[i] }

// StreamSection implements driver.Section.
func (s *section) StreamSection(w io.Writer) error {
	s.passes++
	return inParts(w, s.data)
}

// inParts writes b in parts of a prime length.
func inParts(w io.Writer, b []byte) error {
	for len(b) > 0 {
		n := min(len(b), 97)
		if _, err := w.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// packed returns a toy whose tensors at odd places are decoded: each by itself, or all of them as one section, which
// may have gaps.
func packed(isSection bool) (*toy, []byte) {
	d, data := assorted()
	s := &section{}
	held := make([][]byte, len(d.tensors))
	for i := range d.tensors {
		x := &d.tensors[i]
		s.at = append(s.at, int64(len(s.data)))
		if i%2 == 0 && i < len(d.tensors)-1 {
			continue
		}
		off := x.Offset
		if i == len(d.tensors)-1 { // which assorted loads from the end
			off = int64(len(data)) - 5 - x.Size
		}
		held[i] = data[off:][:x.Size]
		s.data = append(s.data, held[i]...)
		s.data = append(s.data, "gap"...)
		*x = loaded(*x)
	}
	d.parsed = driver.Parsed{
		Load:   func(i int) ([]byte, error) { return append(memory.Aligned(len(held[i]))[:0], held[i]...), nil },
		Stream: func(i int, w io.Writer) error { return inParts(w, held[i]) },
		Shares: func(int) bool { return isSection },
	}
	if isSection {
		d.parsed.Section = s
	}
	return d, data
}

// collected are the bytes of requests that Stream returned. It checks that pieces come in order.
type collected struct {
	t     *testing.T
	all   []*bytes.Buffer
	done  []bool
	order []int // of the requests
	units []int64
}

func (c *collected) see(p Piece) error {
	b := c.all[p.Request]
	isNext := len(c.order) > 0 && c.order[len(c.order)-1] == p.Request
	if !isNext {
		c.order = append(c.order, p.Request)
	}
	if p.Offset != int64(b.Len()) || c.done[p.Request] || (p.Offset > 0) != isNext {
		c.t.Errorf("request %d: a piece at %d after %d bytes, done: %v", p.Request, p.Offset, b.Len(), c.done[p.Request])
	}
	if int64(len(p.Data))%c.units[p.Request] != 0 || len(p.Data) == 0 && !p.Last {
		c.t.Errorf("request %d: a piece of %d bytes", p.Request, len(p.Data))
	}
	b.Write(p.Data)
	c.done[p.Request] = p.Last
	clear(p.Data) // it belongs to f
	return nil
}

// TestStream: random requests get what slices of views show, in whole elements, in the order of the file, whatever the ring.
func TestStream(t *testing.T) {
	for name, make := range map[string]func() (*toy, []byte){
		"stored":    assorted,
		"decoded":   func() (*toy, []byte) { return packed(false) },
		"a section": func() (*toy, []byte) { return packed(true) },
	} {
		d, data := make()
		t.Run(name, func(t *testing.T) {
			ways(t, data, d, func(t *testing.T, m *Model) {
				r := rand.New(rand.NewPCG(3, 4))
				for round := range 30 {
					streamRandom(t, r, m, rings[round%len(rings)])
				}
			})
		})
	}
}

var rings = [][][]byte{nil, {make([]byte, 8)}, {make([]byte, 9), make([]byte, 1000), make([]byte, 31)}, {make([]byte, 3<<20)}}

func streamRandom(t *testing.T, r *rand.Rand, m *Model, ring [][]byte) {
	t.Helper()
	c := &collected{t: t}
	var requests []Request
	var want [][]byte
	small := len(ring) > 0 && len(ring[0]) < 100
	for len(requests) < 1+r.IntN(8) {
		v := m.At(r.IntN(m.Len()))
		if small && v.Size() > 1<<20 {
			continue // millions of pieces
		}
		q, _ := randomRequest(t, r, v)
		q.Bytes, q.Floats = nil, nil
		s, err := v.Slice(q.Slice...)
		expect.OK(t, err)
		b := make([]byte, s.Size())
		_, err = s.ReadInto(b)
		expect.OK(t, err)
		requests, want = append(requests, q), append(want, b)
		c.all, c.done = append(c.all, &bytes.Buffer{}), append(c.done, false)
		c.units = append(c.units, v.DType().Size())
	}
	expect.OK(t, m.Stream(t.Context(), requests, ring, c.see))
	for i, q := range requests {
		if !bytes.Equal(want[i], c.all[i].Bytes()) || !c.done[i] {
			t.Errorf("%v: %d other bytes, %d expected, done: %v", q, c.all[i].Len(), len(want[i]), c.done[i])
		}
	}
	for i := 1; i < len(c.order); i++ {
		before, after := m.extentOf(t, requests[c.order[i-1]].Tensor), m.extentOf(t, requests[c.order[i]].Tensor)
		if !before.IsAlone && !after.IsAlone && before.Compare(after) > 0 || after.IsAlone && !before.IsAlone {
			t.Errorf("%v comes before %v", requests[c.order[i-1]], requests[c.order[i]])
		}
	}
}

func (m *Model) extentOf(t *testing.T, name string) pass.Extent {
	t.Helper()
	i, ok := m.index.Lookup(name)
	if !ok {
		t.Fatal(name)
	}
	return m.extent(i)
}

// TestStreamPasses: tensors that are compressed together are decompressed once for all requests, and again only for a
// tensor that is requested twice.
func TestStreamPasses(t *testing.T) {
	d, data := packed(true)
	m := open(t, source.FromBytes(data), d)
	s := d.parsed.Section.(*section)
	for _, tt := range []struct {
		names  []string
		passes int
	}{
		{[]string{"loaded", "deep", "none", "cube"}, 1},
		{[]string{"vector"}, 0},
		{[]string{"cube", "vector", "cube", "deep"}, 2},
	} {
		var requests []Request
		for _, name := range tt.names {
			requests = append(requests, Request{Tensor: name})
		}
		s.passes = 0
		expect.OK(t, m.Stream(t.Context(), requests, nil, func(Piece) error { return nil }))
		if s.passes != tt.passes {
			t.Errorf("%q: %d passes, want %d", tt.names, s.passes, tt.passes)
		}
	}
}

// TestStreamPieces: the pieces of small requests, one by one.
func TestStreamPieces(t *testing.T) {
	data := []byte("0123456789abcdef")
	blocks := &tensor.Encoding{Name: "B", BlockElems: 4, BlockBytes: 2}
	d := &toy{tensors: []driver.Tensor{
		{Name: []byte("pairs"), DType: tensor.Uint16, Shape: tensor.Shape{2, 2}, Size: 8},
		{Name: []byte("none"), DType: tensor.Uint16, Shape: tensor.Shape{0}, Offset: 8},
		{Name: []byte("blocks"), Encoding: blocks, Shape: tensor.Shape{2, 8}, Offset: 8, Size: 8},
	}}
	m := open(t, source.FromBytes(data), d)
	all := func(names ...string) (list []Request) {
		for _, name := range names {
			list = append(list, Request{Tensor: name})
		}
		return list
	}
	column := []tensor.Range{{From: 0, To: tensor.End}, tensor.At(1)}
	for _, tt := range []struct {
		name     string
		requests []Request
		ring     []int
		want     []string
	}{
		{"no requests", []Request{}, []int{5}, nil},
		{"all tensors", nil, []int{4}, []string{"0 0 0123 false", "0 4 4567 true", "1 0  true", "2 0 89ab false", "2 4 cdef true"}},
		{"whole elements", all("pairs"), []int{5}, []string{"0 0 0123 false", "0 4 4567 true"}},
		{"a ring", all("pairs"), []int{2, 5}, []string{"0 0 01 false", "0 2 2345 false", "0 6 67 true"}},
		{"the order of the file", all("blocks", "none", "pairs"), []int{8}, []string{"2 0 01234567 true", "1 0  true", "0 0 89abcdef true"}},
		{"a column", []Request{{Tensor: "pairs", Slice: column}}, []int{8}, []string{"0 0 2367 true"}},
		{"blocks", all("blocks"), []int{3}, []string{"0 0 89 false", "0 2 ab false", "0 4 cd false", "0 6 ef true"}},
		{"blocks of a column", []Request{{Tensor: "blocks", Slice: []tensor.Range{{From: 0, To: 2}, {From: 4, To: 8}}}}, []int{4}, []string{"0 0 abef true"}},
		{"an empty slice", []Request{{Tensor: "pairs", Slice: []tensor.Range{{From: 1, To: 1}}}}, nil, []string{"0 0  true"}},
	} {
		var ring [][]byte
		for _, n := range tt.ring {
			ring = append(ring, make([]byte, n))
		}
		var got []string
		err := m.Stream(t.Context(), tt.requests, ring, func(p Piece) error {
			got = append(got, fmt.Sprintf("%d %d %s %v", p.Request, p.Offset, p.Data, p.Last))
			return nil
		})
		expect.OK(t, err)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestStreamRefuses: what cannot be met is refused with the tensor's name before anything is read.
func TestStreamRefuses(t *testing.T) {
	d, data := packed(true)
	row := []tensor.Range{tensor.At(0)}
	ways(t, data, d, func(t *testing.T, m *Model) {
		for _, tt := range []struct {
			name string
			q    Request
			ring [][]byte
			want error
		}{
			{"no such tensor", Request{Tensor: "other"}, nil, tensor.ErrNotFound},
			{"a slice outside", Request{Tensor: "cube", Slice: []tensor.Range{{From: 0, To: 21}}}, nil, tensor.ErrShape},
			{"more ranges than axes", Request{Tensor: "scalar", Slice: row}, nil, tensor.ErrShape},
			{"Bytes", Request{Tensor: "vector", Bytes: make([]byte, 400)}, nil, tensor.ErrOption},
			{"Floats", Request{Tensor: "vector", Floats: make([]float32, 100)}, nil, tensor.ErrOption},
			{"a small buffer", Request{Tensor: "scalar"}, [][]byte{make([]byte, 8), make([]byte, 7)}, tensor.ErrOption},
		} {
			err := m.Stream(t.Context(), []Request{{Tensor: "vector"}, tt.q}, tt.ring, func(p Piece) error {
				t.Errorf("%s: %v was read", tt.name, p)
				return nil
			})
			wantToyError(t, tt.name, err, tt.want, fmt.Sprintf("tensor %q", tt.q.Tensor))
		}
		m.Close()
		expect.Refused(t, tensor.ErrClosed)(nil, m.Stream(t.Context(), nil, nil, nil))
	})
}

// TestStreamEnds: an error of f, a canceled context and a file that is too short end Stream. No piece follows.
func TestStreamEnds(t *testing.T) {
	d, data := packed(true)
	errMine := errors.New("mine")
	for _, name := range []string{"vector", "wide", "deep", "loaded"} {
		ways(t, data, d, func(t *testing.T, m *Model) {
			requests := []Request{{Tensor: name}, {Tensor: "scalar"}}
			ring := [][]byte{make([]byte, 16)}
			calls := 0
			err := m.Stream(t.Context(), requests, ring, func(Piece) error { calls++; return errMine })
			if err != errMine || calls != 1 {
				t.Errorf("%s: %v after %d calls", name, err, calls)
			}
			ctx, cancel := context.WithCancel(t.Context())
			calls = 0
			err = m.Stream(ctx, requests, ring, func(Piece) error { calls++; cancel(); return nil })
			if !errors.Is(err, context.Canceled) || calls > 1000 {
				t.Errorf("%s, canceled: %v after %d calls", name, err, calls)
			}
		})
	}
	t.Run("short", func(t *testing.T) {
		last := &d.tensors[6] // scalar
		m := open(t, source.FromReaderAt(bytes.NewReader(data[:last.Offset+4]), int64(len(data))), &toy{tensors: d.tensors[6:7]})
		err := m.Stream(t.Context(), []Request{{Tensor: "scalar"}}, nil, func(p Piece) error {
			t.Errorf("%v was read", p)
			return nil
		})
		wantToyError(t, "short", err, tensor.ErrTruncated, `tensor "scalar"`)
	})
}

// TestStreamChecks: data that is not what a checksum or the shape says is an error that names the tensor.
func TestStreamChecks(t *testing.T) {
	w := driver.Tensor{Name: []byte("w"), DType: tensor.Uint8, Shape: tensor.Shape{10}, Size: 10}
	blocks := &tensor.Encoding{Name: "B", BlockElems: 5, BlockBytes: 5}
	flat := &tensor.Encoding{Name: "F", BlockElems: 4, BlockBytes: 2, Flat: true}
	ofBlocks := driver.Tensor{Name: []byte("w"), Encoding: blocks, Shape: tensor.Shape{10}, Size: 10}
	ofRows := driver.Tensor{Name: []byte("w"), Encoding: flat, Shape: tensor.Shape{3, 6}, Size: 10}
	sum := driver.Parsed{TensorSum: func(int) driver.Digest { return driver.Digest{Kind: driver.XXH64, Want: 1} }}
	few := driver.Parsed{Load: func(int) ([]byte, error) { return memory.Aligned(9), nil }}
	fewStreamed := driver.Parsed{Load: few.Load, Stream: func(_ int, w io.Writer) error { return inParts(w, make([]byte, 9)) }}
	fewOfAll := driver.Parsed{
		Load: few.Load, Stream: fewStreamed.Stream, Shares: func(int) bool { return true },
		Section: &section{at: []int64{3}, data: make([]byte, 12)},
	}
	part := []tensor.Range{{From: 0, To: 3}}
	for _, tt := range []struct {
		name   string
		tensor driver.Tensor
		parsed driver.Parsed
		slice  []tensor.Range
		want   error
	}{
		{"before its first use", w, sum, nil, tensor.ErrChecksum},
		{"few bytes", loaded(w), few, nil, tensor.ErrCorrupt},
		{"few bytes, streamed", loaded(w), fewStreamed, nil, tensor.ErrCorrupt},
		{"few bytes of a section", loaded(w), fewOfAll, nil, tensor.ErrCorrupt},
		{"a part of a block", ofBlocks, driver.Parsed{}, part, tensor.ErrShape},
		{"a row that shares a block", ofRows, driver.Parsed{}, []tensor.Range{tensor.At(1)}, tensor.ErrShape},
		{"all rows that share blocks", ofRows, driver.Parsed{}, []tensor.Range{{From: 0, To: 3}}, nil},
	} {
		m := open(t, source.FromBytes(ramp(10)), &toy{onTouch: true, tensors: []driver.Tensor{tt.tensor}, parsed: tt.parsed})
		n := 0
		err := m.Stream(t.Context(), []Request{{Tensor: "w", Slice: tt.slice}}, nil, func(p Piece) error {
			n += len(p.Data)
			return nil
		})
		if tt.want == nil {
			expect.OK(t, err)
			if n != 10 {
				t.Errorf("%s: %d bytes", tt.name, n)
			}
			continue
		}
		wantToyError(t, tt.name, err, tt.want, `tensor "w"`)
		if n == 10 {
			t.Errorf("%s: all of it was read", tt.name)
		}
	}
}
