package format

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// told is a reader that sends the offset and size of each read, and then reads.
type told struct {
	*bytes.Reader
	reads chan [2]int64
}

func (r *told) ReadAt(p []byte, off int64) (int, error) {
	r.reads <- [2]int64{off, int64(len(p))}
	return r.Reader.ReadAt(p, off)
}

// openTold opens data behind a told, whose reads so far it has forgotten.
func openTold(t *testing.T, data []byte, d *toy, change ...func(*config)) (*Model, *told) {
	r := &told{bytes.NewReader(data), make(chan [2]int64, 1000)}
	m := open(t, source.FromReaderAt(r, int64(len(data))), d, change...)
	for len(r.reads) > 0 {
		<-r.reads
	}
	return m, r
}

// TestStreamAhead: while f runs the next buffer is read, and a buffer is not read again while f has pieces of it.
func TestStreamAhead(t *testing.T) {
	data := ramp(100)
	d := &toy{tensors: []driver.Tensor{u8("a", 0, 50), u8("b", 50, 50)}}
	for _, tt := range []struct {
		name string
		ring int // buffers of 10 bytes
	}{{"two buffers", 2}, {"three buffers", 3}} {
		m, r := openTold(t, data, d)
		var ring [][]byte
		for range tt.ring {
			ring = append(ring, make([]byte, 10))
		}
		done := int64(0)
		read := 0
		expect.OK(t, m.Stream(t.Context(), nil, ring, func(p Piece) error {
			want := data[done:][:len(p.Data)]
			done += int64(len(p.Data))
			for ahead := int(done) / 10; read < min(ahead+tt.ring-1, 10); read++ {
				<-r.reads // or the test hangs
			}
			if !bytes.Equal(want, p.Data) {
				t.Errorf("%s: other bytes before %d", tt.name, done)
			}
			return nil
		}))
	}
}

// TestStreamJoins: neighbors are read at once. What is whole in a buffer is one piece.
func TestStreamJoins(t *testing.T) {
	const gap = pass.MaxGap
	wide := func(name string, off, n int64) driver.Tensor {
		return driver.Tensor{Name: []byte(name), DType: tensor.Uint32, Shape: tensor.Shape{n}, Offset: off, Size: 4 * n}
	}
	type part struct{ offset, size int64 } // of a piece
	for _, tt := range []struct {
		name    string
		tensors []driver.Tensor
		slice   []tensor.Range
		ring    []int
		reads   [][2]int64
		pieces  []part
	}{
		{"neighbors", []driver.Tensor{u8("a", 0, 9), u8("b", 9, 100), u8("c", 115, 10)}, nil, []int{1000}, [][2]int64{{0, 125}}, []part{{0, 9}, {0, 100}, {0, 10}}},
		{"a small buffer", []driver.Tensor{u8("a", 0, 9), u8("b", 9, 100), u8("c", 115, 10)}, nil, []int{110}, [][2]int64{{0, 109}, {115, 10}}, []part{{0, 9}, {0, 100}, {0, 10}}},
		{"whole in the next buffer", []driver.Tensor{u8("a", 0, 60), u8("b", 60, 60)}, nil, []int{100}, [][2]int64{{0, 60}, {60, 60}}, []part{{0, 60}, {0, 60}}},
		{"larger than a buffer", []driver.Tensor{u8("a", 0, 60), u8("b", 60, 150)}, nil, []int{100}, [][2]int64{{0, 100}, {100, 100}, {200, 10}}, []part{{0, 60}, {0, 40}, {40, 100}, {140, 10}}},
		{"a large gap", []driver.Tensor{u8("a", 0, 9), u8("b", 10+gap, 9)}, nil, []int{100}, [][2]int64{{0, 9}, {10 + gap, 9}}, []part{{0, 9}, {0, 9}}},
		{"the same bytes", []driver.Tensor{u8("a", 0, 9), u8("b", 0, 9)}, nil, []int{100}, [][2]int64{{0, 9}, {0, 9}}, []part{{0, 9}, {0, 9}}},
		{"aligned", []driver.Tensor{u8("a", 1, 3), wide("b", 5, 2), wide("c", 13, 2)}, nil, []int{1000}, [][2]int64{{1, 20}}, []part{{0, 3}, {0, 8}, {0, 8}}},
		{"not aligned", []driver.Tensor{u8("a", 0, 3), wide("b", 3, 2), wide("c", 11, 2)}, nil, []int{1000}, [][2]int64{{0, 3}, {3, 16}}, []part{{0, 3}, {0, 8}, {0, 8}}},
		{"rows", []driver.Tensor{{Name: []byte("a"), DType: tensor.Uint8, Shape: tensor.Shape{10, 50}, Size: 500}}, []tensor.Range{{From: 2, To: 6}}, []int{150}, [][2]int64{{100, 150}, {250, 50}}, []part{{0, 150}, {150, 50}}},
		{"long columns", []driver.Tensor{{Name: []byte("a"), DType: tensor.Uint8, Shape: tensor.Shape{2, 2 * gap}, Size: 4 * gap}}, []tensor.Range{{From: 0, To: 2}, {From: 0, To: 8}}, []int{100}, [][2]int64{{0, 8}, {2 * gap, 8}}, []part{{0, 16}}},
	} {
		data := ramp(5 * gap)
		m, r := openTold(t, data, &toy{tensors: tt.tensors}, func(c *config) { c.options.Workers = 1 })
		var requests []Request
		want := map[int][]byte{}
		for i := range tt.tensors {
			v, err := m.At(i).Slice(tt.slice...)
			expect.OK(t, err)
			b := make([]byte, v.Size())
			_, err = v.ReadInto(b)
			expect.OK(t, err)
			want[i] = b
			requests = append(requests, Request{Tensor: v.Name(), Slice: tt.slice})
		}
		for len(r.reads) > 0 {
			<-r.reads
		}
		var ring [][]byte
		for _, n := range tt.ring {
			ring = append(ring, make([]byte, n))
		}
		got := map[int][]byte{}
		var pieces []part
		expect.OK(t, m.Stream(t.Context(), requests, ring, func(p Piece) error {
			pieces = append(pieces, part{p.Offset, int64(len(p.Data))})
			got[p.Request] = append(got[p.Request], p.Data...)
			return nil
		}))
		var reads [][2]int64
		for len(r.reads) > 0 {
			reads = append(reads, <-r.reads)
		}
		if diff := cmp.Diff(tt.reads, reads); diff != "" {
			t.Errorf("%s: reads (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.pieces, pieces, cmp.AllowUnexported(part{})); diff != "" {
			t.Errorf("%s: pieces (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: other bytes", tt.name)
		}
	}
}

// TestStreamMixed: a slice that is gathered is between two reads of a buffer, which are as far apart as in the file.
func TestStreamMixed(t *testing.T) {
	table := driver.Tensor{Name: []byte("a"), DType: tensor.Uint8, Shape: tensor.Shape{2, 10}, Size: 20}
	data := ramp(200)
	m := open(t, source.FromBytes(data), &toy{tensors: []driver.Tensor{table, u8("b", 128, 10)}})
	columns := Request{Tensor: "a", Slice: []tensor.Range{{From: 0, To: 2}, {From: 3, To: 8}}}
	got := make([][]byte, 3)
	expect.OK(t, m.Stream(t.Context(), []Request{{Tensor: "a"}, columns, {Tensor: "b"}}, nil, func(p Piece) error {
		got[p.Request] = bytes.Clone(p.Data)
		return nil
	}))
	want := [][]byte{data[:20], append(bytes.Clone(data[3:8]), data[13:18]...), data[128:138]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStreamReadsOnce: a tensor that fits into a buffer is compared with its checksum there, and a larger one before.
func TestStreamReadsOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		ring int
		read int64
		bad  bool
	}{
		{"fits", 1000, 1000, false},
		{"is larger", 700, 1900, false},
		{"fits, and is wrong", 1000, 0, true},
		{"is larger, and is wrong", 700, 0, true},
	} {
		data := ramp(1000)
		r := &requests{ReaderAt: bytes.NewReader(data)}
		d := &toy{tensors: []driver.Tensor{u8("a", 0, 100), u8("b", 100, 900)}}
		d.parsed = driver.Parsed{TensorSum: func(i int) driver.Digest {
			x := &d.tensors[i]
			s := digestOf(driver.XXH64, data[x.Offset:][:x.Size])
			if tt.bad && i == 1 {
				s.Want++
			}
			return s
		}}
		m := open(t, source.FromReaderAt(r, int64(len(data))), d, check(CheckTouch))
		r.bytes.Store(0)
		var got []byte
		err := m.Stream(t.Context(), nil, [][]byte{make([]byte, tt.ring)}, func(p Piece) error {
			got = append(got, p.Data...)
			if tt.bad && p.Request == 1 {
				t.Errorf("%s: a piece", tt.name)
			}
			return nil
		})
		if tt.bad {
			wantToyError(t, tt.name, err, tensor.ErrChecksum, `tensor "b"`)
			continue
		}
		if err != nil || !bytes.Equal(data, got) || r.bytes.Load() != tt.read {
			t.Errorf("%s: %v, %d bytes were read, want %d", tt.name, err, r.bytes.Load(), tt.read)
		}
		if m.touch.pending.Load() {
			t.Errorf("%s: something is still to be checked", tt.name)
		}
	}
}

// endless is a reader that fails once its context is done, from an offset on.
type endless struct {
	*bytes.Reader
	from int64
}

func (r *endless) read(ctx context.Context, p []byte, off int64) (int, error) {
	if off >= r.from {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return r.ReadAt(p, off)
}

// TestStreamStops: however Stream ends, its goroutines end before, and the model can be closed.
func TestStreamStops(t *testing.T) {
	data := ramp(1000)
	d := &toy{tensors: []driver.Tensor{u8("a", 0, 500), u8("b", 500, 500)}}
	d.parsed.Load = func(int) ([]byte, error) { panic("mine") }
	bad := &toy{tensors: []driver.Tensor{u8("a", 0, 500), loaded(u8("b", 0, 500))}, parsed: d.parsed}
	errMine := errors.New("mine")
	for _, tt := range []struct {
		name  string
		d     *toy
		f     func(cancel func()) error
		ended string
	}{
		{"at the end", d, func(func()) error { return nil }, "<nil>"},
		{"an error", d, func(func()) error { return errMine }, "mine"},
		{"a panic", d, func(func()) error { panic("mine") }, "panic: mine"},
		{"Goexit", d, func(func()) error { runtime.Goexit(); return nil }, "Goexit"},
		{"canceled", d, func(cancel func()) error { cancel(); return nil }, "context canceled"},
		{"a panic of the driver", bad, func(func()) error { return nil }, "panic: mine"},
	} {
		from := int64(len(data))
		if tt.ended == "mine" {
			from = 300 // a read that the error of f has to end
		}
		r := &endless{bytes.NewReader(data), from}
		before := runtime.NumGoroutine()
		m := open(t, source.FromReader(&source.Reader{ReaderAt: r, ReadContext: r.read}, int64(len(data))), tt.d)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan string)
		go func() {
			text := "Goexit"
			defer func() {
				if v := recover(); v != nil {
					text = "panic: " + v.(string)
				}
				ended <- text
			}()
			ring := [][]byte{make([]byte, 10), make([]byte, 100)}
			err := m.Stream(ctx, nil, ring, func(Piece) error { return tt.f(cancel) })
			text = "<nil>"
			if err != nil {
				text = err.Error()
			}
			if errors.Is(err, context.Canceled) {
				text = context.Canceled.Error()
			}
		}()
		expect.Equal(t, tt.ended, <-ended)
		cancel()
		expect.OK(t, m.Close())
		for runtime.NumGoroutine() > before {
			runtime.Gosched()
		}
	}
}

// TestStreamMemory: Stream does not map what it reads, so that the process needs no more memory than its buffers.
func TestStreamMemory(t *testing.T) {
	testhost.NeedResident(t)
	size := int64(1 << 30)
	if testhost.Nightly() {
		size = 100 << 30
	}
	path := filepath.Join(t.TempDir(), "m.toy")
	f, err := os.Create(path)
	expect.OK(t, err)
	expect.OK(t, f.Truncate(size))
	expect.OK(t, f.Close())
	half := size/2 - 12345
	m := openToy(t, path, &toy{tensors: []driver.Tensor{u8("a", 0, half), u8("b", half, size-half)}})
	ring := [][]byte{bytes.Repeat([]byte{1}, 16<<20), bytes.Repeat([]byte{1}, 16<<20)}
	before := residentMemory(t)
	most := before
	pieces := 0
	expect.OK(t, m.Stream(t.Context(), nil, ring, func(p Piece) error {
		if pieces%64 == 63 { // looking leaves garbage
			most = max(most, residentMemory(t))
		}
		pieces++
		return nil
	}))
	most = max(most, residentMemory(t))
	if most-before > 8<<20 {
		t.Errorf("%d bytes more are resident", most-before)
	}
}

// residentMemory returns the resident memory of the process.
func residentMemory(t *testing.T) (n int) {
	b, err := os.ReadFile("/proc/self/status")
	expect.OK(t, err)
	for _, field := range regexp.MustCompile(`(?m)^Rss(?:Anon|File):\s*(\d+) kB$`).FindAllSubmatch(b, -1) {
		kB, err := strconv.Atoi(string(field[1]))
		expect.OK(t, err)
		n += kB << 10
	}
	return n
}
