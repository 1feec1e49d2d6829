package mle

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestMeasured compares measured with what package tensor says of shape and dtype.
func TestMeasured(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	dims := []uint32{0, 1, 2, 3, 1 << 15, 1 << 16, 1<<31 - 1, 1 << 31, math.MaxUint32}
	seen := map[bool]int{}
	for range 100_000 {
		var d descriptor
		rank := r.Uint32N(maxRank + 2)
		le.PutUint32(d[16:], rank)
		var shape tensor.Shape
		for k := range min(int(rank), maxRank) {
			dim := dims[r.IntN(len(dims))]
			le.PutUint32(d[20+4*k:], dim)
			shape = append(shape, int64(dim))
		}
		d[52] = byte(r.UintN(5))
		size, err := shape.ByteSize(dtypeOf(d[52]))
		near := uint64(size) + []uint64{0, 0, 0, 1, math.MaxUint64}[r.IntN(5)]
		le.PutUint64(d[8:], near)
		want := err == nil && rank <= maxRank && near == uint64(size) && size != 0
		if got := d.measured(); got != want {
			t.Fatalf("%d bytes, rank %d, shape %v of code %d: %v, want %v (%d, %v)", near, rank, shape, d[52], got, want, size, err)
		}
		seen[want]++
	}
	if seen[true] < 1000 || seen[false] < 1000 {
		t.Errorf("%v", seen)
	}
}

// TestRepeated compares repeated with a map.
func TestRepeated(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 2))
	type verdict struct {
		I     int
		Twice bool
	}
	for _, n := range []int{0, 1, 2, 3, 5, 8, 100, 1000, 5000} {
		for _, of := range []int{1, n, 20 * n * n} {
			for round := range 20 {
				names := make([][]byte, n)
				for i := range names {
					names[i] = fmt.Appendf(nil, "tensor.%d", r.IntN(of+1))
				}
				var want verdict
				first := map[string]bool{}
				for i, name := range names {
					if first[string(name)] {
						want = verdict{i, true}
						break
					}
					first[string(name)] = true
				}
				var got verdict
				got.I, got.Twice = repeated(n, func(i int) []byte { return names[i] })
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("%d names of %d, round %d (-want +got)\n%s", n, of, round, d)
				}
			}
		}
	}
}

// TestRanges compares ranges with a sorted set.
func TestRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 3))
	for range 200 {
		g := graphSection{b: make([]byte, 300*nodeSize), nodes: r.IntN(300)}
		want := []uint64{}
		kinds := 1 + r.Uint32N(200)
		for i := range g.nodes {
			off, size := 1000*r.Uint32N(kinds), r.Uint32N(3)
			le.PutUint32(g.b[i*nodeSize+200:], off)
			le.PutUint32(g.b[i*nodeSize+204:], size)
			if size > 0 {
				want = append(want, uint64(off)<<32|uint64(size))
			}
		}
		slices.Sort(want)
		if d := cmp.Diff(slices.Compact(want), g.ranges()); d != "" {
			t.Fatalf("-want +got\n%s", d)
		}
	}
}

// TestEscapedNames: names mean the same whether they have escapes or not.
func TestEscapedNames(t *testing.T) {
	plain := plainGolden()
	plain.metadata = `{"tensor_names":["w","模型","b","y"]}`
	escaped := plainGolden()
	escaped.metadata = `{"tensor\u005fnames" : [ "\u0077", "\u6a21型" ,"b","\u0079"]}`
	want := mustOpen(t, plain.build(), nil)
	got := mustOpen(t, escaped.build(), nil)
	if d := cmp.Diff(contents(t, want), contents(t, got)); d != "" {
		t.Errorf("tensors (-plain +escaped)\n%s", d)
	}
	a, err := want.Descriptors()
	if err != nil {
		t.Fatal(err)
	}
	b, err := got.Descriptors()
	if d := cmp.Diff(a, b); d != "" || err != nil {
		t.Errorf("descriptors: %v (-plain +escaped)\n%s", err, d)
	}
}

// manyTensors is a file of n tensors of one element and as many placeholders, named as value
// and their number, with a node for each that has attributes of its own.
func manyTensors(n int, value string) []byte {
	g := &gFile{version: 2, headerSize: headerText, weights: bytes.Repeat([]byte{1}, n)}
	var names, attrs []string
	for i := range n {
		g.tensors = append(g.tensors, gTensor{offset: uint64(i), size: 1, dtype: 2}, gTensor{dtype: 2})
		names = append(names, fmt.Sprintf(`"w%d","%s%d"`, i, value, i))
		attrs = append(attrs, fmt.Sprintf(`{"layer":%d}`, i))
	}
	g.metadata = `{"tensor_names":[` + strings.Join(names, ",") + `]}`
	at := uint32(graphHead + 2*n*descriptorSize + n*nodeSize)
	for i, a := range attrs {
		g.nodes = append(g.nodes, gNode{op: 2, outputs: []uint32{uint32(2*i + 1)}, params: []uint32{uint32(2 * i)}, attrOffset: at, attrSize: uint32(len(a))})
		at += uint32(len(a))
	}
	g.attributes = strings.Join(attrs, "")
	return g.build()
}

// TestAllocations: opening allocates a handful of times, whatever the number of tensors,
// placeholders and nodes.
func TestAllocations(t *testing.T) {
	for _, n := range []int{20, 3000} {
		file := manyTensors(n, "value")
		f := mustOpen(t, file, nil)
		if d := cmp.Diff([]int{n, 2 * n}, []int{f.Len(), f.f.graph.tensors}); d != "" {
			t.Fatalf("-want +got\n%s", d)
		}
		path := saved(t, file)
		for how, open := range map[string]func() (*File, error){
			"bytes": func() (*File, error) { return OpenBytes(file, nil) },
			"file":  func() (*File, error) { return Open(path, nil) },
		} {
			if how == "file" && !testhost.Maps() {
				continue // the system's way to read files allocates
			}
			got := testing.AllocsPerRun(10, func() {
				f, err := open()
				if err != nil {
					t.Fatal(err)
				}
				f.Close()
			})
			if got > 32 {
				t.Errorf("%s of %d tensors: %v allocations", how, n, got)
			}
		}
	}
}

// TestRepeatedAttributes: the first text that is no object is what is refused, whatever
// nodes before it have in common.
func TestRepeatedAttributes(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 4))
	for range 300 {
		var attrs []byte
		g := graphSection{nodes: 1 + r.IntN(100), base: 1000}
		g.attrsAt = g.nodes * nodeSize
		g.b = make([]byte, g.attrsAt)
		want, bad := int64(-1), r.IntN(3*g.nodes)
		for i := range g.nodes {
			text := fmt.Sprintf(`{"a":%d}`, r.IntN(1+r.IntN(40)))
			if i == bad || i > bad && r.IntN(4) == 0 {
				text = strings.Replace(text, "}", "]", 1)
				if want < 0 {
					want = g.base + int64(g.attrsAt+len(attrs)+len(text)-1)
				}
			}
			le.PutUint32(g.b[i*nodeSize+200:], uint32(g.attrsAt+len(attrs)))
			le.PutUint32(g.b[i*nodeSize+204:], uint32(len(text)))
			attrs = append(attrs, text...)
		}
		g.b = append(g.b, attrs...)
		got := int64(-1)
		var e *format.Error
		if err := g.checkNodes(new(jsonmeta.Checker)); errors.As(err, &e) {
			got = e.Offset
		}
		if want != got {
			t.Fatalf("refused at %d, want %d, of %s", got, want, attrs)
		}
	}
}
