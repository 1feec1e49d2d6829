package format

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// assorted returns tensors whose slices are cut in every way, the bytes of their file, and a toy that loads the last.
func assorted() (*toy, []byte) {
	d := &toy{}
	size := int64(3) // nothing is aligned
	add := func(name string, dtype tensor.DType, shape ...int64) {
		n := tensor.Shape(shape)
		bytes, err := n.ByteSize(dtype)
		if err != nil {
			panic(err)
		}
		d.tensors = append(d.tensors, driver.Tensor{Name: []byte(name), DType: dtype, Shape: n, Offset: size, Size: bytes})
		size += bytes + 5
	}
	add("vector", tensor.Float32, 100)
	add("deep", tensor.Uint16, 3, 5, 70_000)
	add("wide", tensor.Int8, 40, 100_000)
	add("cube", tensor.Float32, 20, 30, 40)
	add("long", tensor.BFloat16, 3_000_000)
	add("none", tensor.Float32, 0, 3)
	add("scalar", tensor.Float64)
	add("layers", tensor.Float16, 2, 3, 700, 50)
	add("loaded", tensor.Int16, 11, 7)
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i*7) ^ byte(i>>9)
	}
	last := &d.tensors[len(d.tensors)-1]
	held := append(memory.Aligned(int(last.Size))[:0], data[last.Offset:][:last.Size]...)
	*last = loaded(*last)
	d.parsed = driver.Parsed{Load: func(int) ([]byte, error) { return held, nil }}
	return d, data
}

// ways opens data as bytes, as a mapped file and behind a reader.
func ways(t *testing.T, data []byte, d *toy, each func(t *testing.T, m *Model), change ...func(*config)) {
	t.Run("bytes", func(t *testing.T) { each(t, open(t, source.FromBytes(data), d, change...)) })
	t.Run("path", func(t *testing.T) { each(t, openToy(t, storedFile(t, "m.toy", data), d, change...)) })
	t.Run("reader", func(t *testing.T) {
		each(t, open(t, source.FromReaderAt(bytes.NewReader(data), int64(len(data))), d, change...))
	})
}

// randomRequest makes a request of a tensor, and returns what checks its memory.
func randomRequest(t *testing.T, r *rand.Rand, v tensor.View) (q Request, check func()) {
	q.Tensor = v.Name()
	for _, d := range v.Shape()[:r.IntN(len(v.Shape())+1)] {
		from := r.Int64N(d + 1)
		to := from + r.Int64N(d-from+1)
		switch r.IntN(4) {
		case 0:
			from, to = 0, tensor.End
		case 1:
			from, to = max(0, d/2-1), (d+1)/2
		}
		if from == 0 && to == 0 {
			to = tensor.End
		}
		q.Slice = append(q.Slice, tensor.Range{From: from, To: to})
	}
	s, err := v.Slice(q.Slice...)
	if err != nil {
		t.Fatal(v, q.Slice, err)
	}
	const extra = 3 // room that stays as it is
	switch r.IntN(3) {
	case 0:
		want, err := tensor.Decode[float32](nil, s)
		expect.OK(t, err)
		q.Floats = make([]float32, len(want)+extra)
		return q, func() {
			if !bytes.Equal(memory.BytesOf(append(want, 0, 0, 0)), memory.BytesOf(q.Floats)) {
				t.Errorf("%v%v: other floats", v, q.Slice)
			}
		}
	case 1:
		want := make([]byte, s.Info().Size)
		_, err := s.ReadInto(want)
		expect.OK(t, err)
		q.Bytes = make([]byte, len(want)+extra)
		return q, func() {
			if !bytes.Equal(append(want, 0, 0, 0), q.Bytes) {
				t.Errorf("%v%v: other bytes", v, q.Slice)
			}
		}
	}
	return q, func() {}
}

// TestLoadAll: random requests get what slices of views show, and progress adds up to their bytes.
func TestLoadAll(t *testing.T) {
	d, data := assorted()
	ways(t, data, d, func(t *testing.T, m *Model) {
		r := rand.New(rand.NewPCG(1, 2))
		for round := range 40 {
			var requests []Request
			var checks []func()
			for range r.IntN(12) {
				q, check := randomRequest(t, r, m.At(r.IntN(m.index.Len())))
				requests, checks = append(requests, q), append(checks, check)
			}
			var last, whole int64
			err := m.Load(t.Context(), requests, func(done, total int64, _ string) { last, whole = done, total })
			if err != nil {
				t.Fatal(round, err)
			}
			if last != whole {
				t.Errorf("round %d: %d of %d bytes were reported", round, last, whole)
			}
			for _, check := range checks {
				check()
			}
		}
	}, func(c *config) { c.options.Workers = 3 })
}

// TestLoadAllocations: loading makes no allocation for each tensor.
func TestLoadAllocations(t *testing.T) {
	if !testhost.CountsAllocs() {
		t.Skip("reading a file allocates more here, or under the race detector")
	}
	const few, many = 10, 3000
	d := &toy{}
	for i := range many {
		d.tensors = append(d.tensors, u8(fmt.Sprint(i), int64(16*i), 16))
	}
	m := openToy(t, storedFile(t, "m.toy", ramp(16*many)), d)
	dst := make([]byte, 16*many)
	var requests []Request
	for i := range many {
		requests = append(requests, Request{Tensor: m.index.Name(i), Bytes: dst[16*i:][:16]})
	}
	load := func(n int) float64 {
		return testing.AllocsPerRun(5, func() { expect.OK(t, m.Load(t.Context(), requests[:n], nil)) })
	}
	base := load(few)
	if got := load(many); got > base+10 {
		t.Errorf("loading allocates %v times for %d tensors, %v times for %d", got, many, base, few)
	}
}

// TestLoadAllRefuses: what cannot be met is refused with the tensor's name before anything is read.
func TestLoadAllRefuses(t *testing.T) {
	d, data := assorted()
	row := []tensor.Range{tensor.At(0)}
	ways(t, data, d, func(t *testing.T, m *Model) {
		for _, tt := range []struct {
			name string
			q    Request
			want error
		}{
			{"no such tensor", Request{Tensor: "other"}, tensor.ErrNotFound},
			{"few bytes", Request{Tensor: "cube", Bytes: make([]byte, 95_999)}, tensor.ErrShape},
			{"no bytes", Request{Tensor: "cube", Bytes: []byte{}}, tensor.ErrShape},
			{"few floats", Request{Tensor: "cube", Floats: make([]float32, 23_999)}, tensor.ErrShape},
			{"few bytes for a slice", Request{Tensor: "cube", Slice: row, Bytes: make([]byte, 4799)}, tensor.ErrShape},
			{"few floats for a slice", Request{Tensor: "cube", Slice: row, Floats: make([]float32, 1199)}, tensor.ErrShape},
			{"few bytes for what is loaded", Request{Tensor: "loaded", Slice: row, Bytes: make([]byte, 13)}, tensor.ErrShape},
			{"a slice outside", Request{Tensor: "cube", Slice: []tensor.Range{{From: 0, To: 21}}}, tensor.ErrShape},
			{"more ranges than axes", Request{Tensor: "scalar", Slice: row}, tensor.ErrShape},
			{"two destinations", Request{Tensor: "vector", Bytes: make([]byte, 400), Floats: make([]float32, 100)}, tensor.ErrOption},
		} {
			first := Request{Tensor: "vector", Bytes: make([]byte, 400)}
			err := m.Load(t.Context(), []Request{first, tt.q}, nil)
			wantToyError(t, tt.name, err, tt.want, fmt.Sprintf("tensor %q", tt.q.Tensor))
			if !bytes.Equal(first.Bytes, make([]byte, 400)) {
				t.Errorf("%s: something was read", tt.name)
			}
		}
		expect.OK(t, m.Load(t.Context(), nil, nil))
		m.Close()
		expect.Refused(t, tensor.ErrClosed)(nil, m.Load(t.Context(), nil, nil))
	})
}

// TestLoadAllCoalesces: neighbors behind a reader are one request, what is far apart is not fetched, and
// large tensors are read straight into their memory.
func TestLoadAllCoalesces(t *testing.T) {
	const kB, MB = 1 << 10, 1 << 20
	data := ramp(12 * MB)
	for _, tt := range []struct {
		name    string
		tensors []driver.Tensor
		slice   []tensor.Range
		n       int64 // requests
		bytes   int64 // that they ask for
	}{
		{"neighbors", []driver.Tensor{u8("a", 0, 9), u8("b", 9, 100), u8("c", 109+pass.MaxGap, 10)}, nil, 1, 119 + pass.MaxGap},
		{"in any order", []driver.Tensor{u8("c", 200, 10), u8("a", 0, 9), u8("b", 9, 100)}, nil, 1, 210},
		{"far apart", []driver.Tensor{u8("a", 0, 9), u8("b", 10+pass.MaxGap, 100)}, nil, 2, 109},
		{"large", []driver.Tensor{u8("a", 5, 5*MB)}, nil, 3, 5 * MB},
		{"rows", []driver.Tensor{{Name: []byte("a"), DType: tensor.Uint8, Shape: tensor.Shape{100, kB}, Size: 100 * kB}}, []tensor.Range{{From: 10, To: 20}}, 1, 10 * kB},
		{"columns", []driver.Tensor{{Name: []byte("a"), DType: tensor.Uint8, Shape: tensor.Shape{100, kB}, Size: 100 * kB}}, []tensor.Range{{From: 0, To: 100}, {From: 10, To: 20}}, 1, 99*kB + 10},
		{"columns of long rows", []driver.Tensor{{Name: []byte("a"), DType: tensor.Uint8, Shape: tensor.Shape{4, MB}, Size: 4 * MB}}, []tensor.Range{{From: 0, To: 3}, {From: 10, To: 20}}, 3, 30},
	} {
		r := &requests{ReaderAt: bytes.NewReader(data)}
		m := open(t, source.FromReaderAt(r, int64(len(data))), &toy{tensors: tt.tensors})
		var list []Request
		for i := range tt.tensors {
			v, err := m.At(i).Slice(tt.slice...)
			expect.OK(t, err)
			list = append(list, Request{Tensor: v.Name(), Slice: tt.slice, Bytes: make([]byte, v.Info().Size)})
		}
		r.n.Store(0)
		r.bytes.Store(0)
		expect.OK(t, m.Load(t.Context(), list, nil))
		if diff := cmp.Diff([]int64{tt.n, tt.bytes}, []int64{r.n.Load(), r.bytes.Load()}); diff != "" {
			t.Errorf("%s: requests and bytes (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestLoadAllHashes: checksums that are compared on first use are compared with the bytes that are
// read for the caller, which are not read again.
func TestLoadAllHashes(t *testing.T) {
	for _, kind := range []driver.Kind{driver.XXH64, driver.CRC32} {
		for _, bad := range []bool{false, true} {
			data := ramp(3 << 20)
			r := &requests{ReaderAt: bytes.NewReader(data)}
			d := &toy{tensors: []driver.Tensor{u8("a", 0, 100), u8("b", 100, 3<<20-100)}}
			d.parsed = driver.Parsed{TensorSum: func(i int) driver.Digest {
				s := driver.Digest{Kind: kind, Want: sumOf(kind, data[d.tensors[i].Offset:][:d.tensors[i].Size])}
				if bad && i == 1 {
					s.Want++
				}
				return s
			}}
			got := make([]byte, len(data))
			floats := make([]float32, len(data))
			for name, list := range map[string][]Request{
				"bytes":  {{Tensor: "b", Bytes: got[100:]}, {Tensor: "a", Bytes: got}},
				"floats": {{Tensor: "b", Floats: floats[100:]}, {Tensor: "a", Floats: floats}},
			} {
				m := open(t, source.FromReaderAt(r, int64(len(data))), d, check(CheckTouch), func(c *config) { c.options.Workers = 1 })
				r.bytes.Store(0)
				err := m.Load(t.Context(), list, nil)
				if bad {
					wantToyError(t, kind.String(), err, tensor.ErrChecksum, `tensor "b"`)
					continue
				}
				for i, x := range floats {
					if name == "floats" {
						got[i] = byte(x)
					}
				}
				if err != nil || !bytes.Equal(data, got) || r.bytes.Load() != int64(len(data)) {
					t.Errorf("%v, %s: %v, %d bytes were read for %d", kind, name, err, r.bytes.Load(), len(data))
				}
				if m.touch.pending.Load() {
					t.Errorf("%v, %s: something is still to be checked", kind, name)
				}
			}
		}
	}
}

func sumOf(k driver.Kind, b []byte) uint64 {
	if k == driver.XXH64 {
		return xxhash.Sum64(b)
	}
	return uint64(tensor.UpdateCRC32(0, b))
}

// TestLoadAllChecks: of what Load reads in part or decodes, the checksum of the whole is compared first.
func TestLoadAllChecks(t *testing.T) {
	for name, q := range map[string]Request{
		"slice":  {Tensor: "b", Slice: []tensor.Range{tensor.At(2)}, Bytes: make([]byte, 1)},
		"floats": {Tensor: "b", Floats: make([]float32, 8)},
		"memory": {Tensor: "b"},
	} {
		ways(t, ramp(64), &toy{tensors: eights(), parsed: goodSum(new(atomic.Int64), 1)}, func(t *testing.T, m *Model) {
			wantToyError(t, name, m.Load(t.Context(), []Request{q}, nil), tensor.ErrChecksum, `tensor "b"`)
		}, check(CheckTouch))
	}
}

// TestLoadAllEnds: a reader that fails and a context that is done end it, in the middle too.
func TestLoadAllEnds(t *testing.T) {
	data := ramp(20 << 20)
	tensors := []driver.Tensor{u8("a", 0, 9<<20), u8("b", 9<<20, 11<<20)}
	list := func() []Request {
		return []Request{{Tensor: "a", Bytes: make([]byte, 9<<20)}, {Tensor: "b", Floats: make([]float32, 11<<20)}}
	}
	r := &requests{ReaderAt: bytes.NewReader(data)}
	m := open(t, source.FromReaderAt(r, int64(len(data))), &toy{tensors: tensors}, func(c *config) { c.options.Workers = 1 }) // in order
	err := m.Load(t.Context(), list(), func(done, _ int64, _ string) { r.broken.Store(done > 10<<20) })
	wantToyError(t, "a reader", err, errMine, `tensor "b"`)
	ways(t, data, &toy{tensors: tensors}, func(t *testing.T, m *Model) {
		ctx, cancel := context.WithCancel(t.Context())
		var most int64
		err := m.Load(ctx, list(), func(done, total int64, _ string) {
			if most = max(most, done); done > 3<<20 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || most > 12<<20 {
			t.Errorf("%v after %d bytes", err, most)
		}
		expect.Refused(t, context.Canceled)(nil, m.Load(ctx, nil, nil))
	}, func(c *config) { c.options.Workers = 2 })
}

// TestLoadAllReplaced: a file that was renamed over the one that is mapped is not read.
func TestLoadAllReplaced(t *testing.T) {
	testhost.NeedReplace(t)
	data := ramp(3 << 20)
	path := storedFile(t, "m.toy", data)
	m := openToy(t, path, &toy{tensors: []driver.Tensor{u8("a", 0, int64(len(data)))}})
	expect.OK(t, errors.Join(os.WriteFile(path+".new", make([]byte, len(data)), 0o666), os.Rename(path+".new", path)))
	got := make([]byte, len(data))
	if err := m.Load(t.Context(), []Request{{Tensor: "a", Bytes: got}}, nil); err != nil || !bytes.Equal(data, got) {
		t.Error("another file was read", err)
	}
}

// TestLoadAllCutShort: a file that is cut short meanwhile is an error that names the tensor, whether its bytes are
// read from the file, decoded, or touched.
func TestLoadAllCutShort(t *testing.T) {
	testhost.NeedCuts(t)
	const size = 8 << 20
	tensors := []driver.Tensor{u8("a", 0, size/4), u8("b", size/4, 3*size/4)}
	for name, q := range map[string]Request{
		"bytes":  {Bytes: make([]byte, size)},
		"slice":  {Bytes: make([]byte, 1), Slice: []tensor.Range{tensor.At(-1)}},
		"floats": {Floats: make([]float32, size)},
		"memory": {},
	} {
		path := storedFile(t, "m.toy", ramp(size))
		m := openToy(t, path, &toy{tensors: tensors}, func(c *config) { c.options.Workers = 1 }) // in order
		first := Request{Tensor: "a", Bytes: make([]byte, size/4)}
		q.Tensor = "b"
		err := m.Load(t.Context(), []Request{first, q}, func(done, _ int64, _ string) {
			if err := os.Truncate(path, size/4); err != nil {
				t.Error(err)
			}
		})
		wantToyError(t, name, err, tensor.ErrTruncated, `tensor "b"`)
	}
}

// TestLoadNeighbors: neighbors are read into their memory, and not what is between them.
func TestLoadNeighbors(t *testing.T) {
	const kB = 1 << 10
	columns := []tensor.Range{{From: 0, To: 2}, {From: 0, To: 4 * kB}}
	table := driver.Tensor{Name: []byte("table"), DType: tensor.Uint8, Shape: tensor.Shape{2, 5 * kB}, Size: 10 * kB}
	at := func(x driver.Tensor, off int64) driver.Tensor { x.Offset = off; return x }
	for _, tt := range []struct {
		name    string
		tensors []driver.Tensor
		slice   []tensor.Range
	}{
		{"side by side", []driver.Tensor{u8("a", 1, 8*kB), u8("b", 1+8*kB, 9*kB), u8("c", 1+17*kB, 20)}, nil},
		{"gaps", []driver.Tensor{u8("a", 0, 8*kB), u8("b", 8*kB+5, 9*kB), u8("c", 17*kB+5+pass.MaxGap, 100*kB)}, nil},
		{"the same bytes", []driver.Tensor{u8("a", 0, 8*kB), u8("b", 0, 8*kB), u8("c", 4*kB, 8*kB)}, nil},
		{"small ones", []driver.Tensor{u8("a", 0, 8), u8("b", 20, 9), u8("c", 40, 10)}, nil},
		{"columns", []driver.Tensor{at(table, 7), u8("c", 20*kB, 9*kB)}, columns},
	} {
		for _, use := range []bool{false, true} {
			data := ramp(300 * kB)
			d := &toy{tensors: tt.tensors}
			d.parsed = driver.Parsed{TensorSum: func(i int) driver.Digest {
				x := &tt.tensors[i]
				return digestOf(driver.CRC32, data[x.Offset:][:x.Size])
			}}
			ways(t, data, d, func(t *testing.T, m *Model) {
				var list []Request
				var want [][]byte
				for i := range m.index.Len() {
					q := Request{Tensor: m.index.Name(i)}
					if q.Tensor == "table" {
						q.Slice = tt.slice
					}
					v, err := m.At(i).Slice(q.Slice...)
					expect.OK(t, err)
					if use {
						_, err := v.Bytes()
						expect.OK(t, err)
					}
					b := make([]byte, v.Size())
					_, err = v.ReadInto(b)
					expect.OK(t, err)
					want = append(want, append(b, 0))
					q.Bytes = make([]byte, v.Size()+1)
					list = append(list, q)
				}
				expect.OK(t, m.Load(t.Context(), list, nil))
				for i, q := range list {
					if !bytes.Equal(want[i], q.Bytes) {
						t.Errorf("%s, used %v: %q has other bytes", tt.name, use, q.Tensor)
					}
				}
			})
		}
	}
}

// TestLoadNeighborsChecks: of neighbors that are read at once, the one with another checksum is named.
func TestLoadNeighborsChecks(t *testing.T) {
	const size = 8 << 10
	data := ramp(3 * size)
	d := &toy{tensors: []driver.Tensor{u8("a", 0, size), u8("b", size, size), u8("c", 2*size, size)}}
	d.parsed = driver.Parsed{TensorSum: func(i int) driver.Digest {
		s := digestOf(driver.XXH64, data[i*size:][:size])
		s.Want += uint64(i / 2)
		return s
	}}
	ways(t, data, d, func(t *testing.T, m *Model) {
		var list []Request
		for _, name := range []string{"a", "b", "c"} {
			list = append(list, Request{Tensor: name, Bytes: make([]byte, size)})
		}
		wantToyError(t, "bytes", m.Load(t.Context(), list, nil), tensor.ErrChecksum, `tensor "c"`)
		expect.OK(t, m.Load(t.Context(), list[:2], nil))
	}, check(CheckTouch))
}
