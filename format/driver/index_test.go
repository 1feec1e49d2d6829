package driver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/tensor"
)

// grown returns an index with room for so much.
func grown(n, nameBytes, dims int) *Index {
	x := &Index{}
	x.Grow(n, nameBytes, dims)
	return x
}

// add adds a uint8 tensor, or fails the test.
func add(t *testing.T, x *Index, name string, off, size int64) {
	t.Helper()
	if x.Add(&Tensor{Name: []byte(name), DType: tensor.Uint8, Shape: tensor.Shape{size}, Offset: off, Size: size}) != nil {
		t.Fatalf("Add(%q) says the name is taken", name)
	}
}

// described returns the description of tensor i.
func described(x *Index, i int) (info tensor.Info) {
	x.Describe(i, &info)
	return info
}

func TestIndex(t *testing.T) {
	x := grown(3, 6, 3)
	q := &tensor.Quantization{Scales: []float32{1}}
	dims := x.Dims(2)
	dims[0], dims[1] = 2, 4
	x.Add(&Tensor{Name: []byte("w"), DType: tensor.Float16, Shape: dims, Space: 2, Offset: 8, Size: 16, Quant: q})
	x.Add(&Tensor{Name: []byte("packed"), DType: tensor.Int8, Shape: tensor.Shape{9}, Offset: -1, Size: 9, Stored: 4, Compression: "gzip", Loaded: true})
	x.Add(&Tensor{Name: []byte("scalar"), DType: tensor.Uint8, Offset: 63, Size: 1})
	want := []tensor.Info{
		{Name: "w", DType: tensor.Float16, Shape: tensor.Shape{2, 4}, Offset: 8, Size: 16, Stored: 16, Quant: q},
		{Name: "packed", DType: tensor.Int8, Shape: tensor.Shape{9}, Offset: -1, Size: 9, Stored: 4, Compression: "gzip"},
		{Name: "scalar", DType: tensor.Uint8, Shape: tensor.Shape{}, Offset: 63, Size: 1, Stored: 1},
	}
	for i, info := range want {
		if d := cmp.Diff(info, described(x, i)); d != "" {
			t.Errorf("tensor %d (-want +got)\n%s", i, d)
		}
		at, ok := x.Lookup(info.Name)
		atb, okb := x.LookupBytes([]byte(info.Name))
		if at != i || atb != i || !ok || !okb || x.Name(i) != info.Name {
			t.Errorf("%q is found at %d and %d: %v %v", info.Name, at, atb, ok, okb)
		}
		s, off, size := x.Place(i)
		if (s == 2) != (i == 0) || off != info.Offset || size != info.Size || x.Size(i) != size {
			t.Errorf("%q is in space %d at %d, %d bytes", info.Name, s, off, size)
		}
		if x.Loaded(i) != (i == 1) || x.Compression(i) != info.Compression || x.Quant(i) != info.Quant || x.DType(i) != info.DType {
			t.Errorf("%q: loaded %v, %q", info.Name, x.Loaded(i), x.Compression(i))
		}
	}
	for _, name := range []string{"", "W", "w\x00", "packe", "packedscalar", "nothing"} {
		if i, ok := x.Lookup(name); ok || i != 0 {
			t.Errorf("Lookup(%q) = %d, %v", name, i, ok)
		}
		if i, ok := x.LookupBytes([]byte(name)); ok || i != 0 {
			t.Errorf("LookupBytes(%q) = %d, %v", name, i, ok)
		}
	}
	if x.Len() != 3 {
		t.Errorf("%d tensors", x.Len())
	}
}

func TestZeroIndex(t *testing.T) {
	var x Index
	_, ok := x.Lookup("w")
	if _, okb := x.LookupBytes([]byte("w")); ok || okb || x.Len() != 0 {
		t.Error("the zero Index finds something")
	}
	add(t, &x, "w", 0, 1)
	if i, ok := x.Lookup("w"); i != 0 || !ok {
		t.Error("what was added to the zero Index is not found")
	}
}

// TestMoreThanToldOf looks up what is not there after more tensors came than
// Grow made room for: the search must meet a free slot.
func TestMoreThanToldOf(t *testing.T) {
	for told := range 3 {
		x := grown(told, 0, 0)
		for i := range 20 {
			if _, ok := x.Lookup("none"); ok {
				t.Fatal("found what is not there")
			}
			add(t, x, fmt.Sprint("t", i), 0, 4)
		}
	}
}

// TestGrowTwice: formats that learn of tensors in parts make room again.
func TestGrowTwice(t *testing.T) {
	x := grown(3, 0, 0)
	for i := range 50 {
		if i%10 == 0 {
			x.Grow(10, 20, 10)
		}
		add(t, x, fmt.Sprint("t", i), int64(i), 4)
	}
	for i := range 50 {
		if at, ok := x.Lookup(fmt.Sprint("t", i)); at != i || !ok {
			t.Errorf("tensor %d is at %d, %v", i, at, ok)
		}
	}
}

// TestDuplicates: a name that is taken adds nothing, wherever it comes.
func TestDuplicates(t *testing.T) {
	x := grown(2, 10, 2)
	add(t, x, "a", 0, 1)
	add(t, x, "b", 1, 1)
	for range 3 {
		if x.Add(&Tensor{Name: []byte("a"), DType: tensor.Int8, Offset: 5, Size: 1}) == nil {
			t.Error("a name was added twice")
		}
	}
	add(t, x, "c", 2, 1)
	var got []string
	for i := range x.Len() {
		_, off, _ := x.Place(i)
		got = append(got, fmt.Sprint(x.Name(i), off))
	}
	if d := cmp.Diff([]string{"a0", "b1", "c2"}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestMany compares with a map, for exact hints and for none.
func TestMany(t *testing.T) {
	const n = 20_000
	r := rand.New(rand.NewPCG(1, 1))
	for _, hint := range []int{0, 1, n} {
		x := grown(hint, 8*hint, hint)
		want := map[string]int{}
		for range n {
			// One name in ten comes again.
			name := fmt.Sprint(r.IntN(10 * n))
			if r.IntN(10) == 0 && len(want) > 0 {
				name = x.Name(r.IntN(len(want)))
			}
			shape := x.Dims(1)
			shape[0] = int64(len(want) % 256)
			added := x.Add(&Tensor{Name: []byte(name), DType: tensor.Uint8, Shape: shape, Offset: 0, Size: shape[0]}) == nil
			if _, taken := want[name]; added == taken {
				t.Fatalf("Add(%q) = %v", name, added)
			}
			if added {
				want[name] = len(want)
			}
		}
		if x.Len() != len(want) {
			t.Fatalf("%d tensors, want %d", x.Len(), len(want))
		}
		for name, i := range want {
			if at, ok := x.Lookup(name); !ok || at != i || x.Name(i) != name || x.Shape(i)[0] != int64(i%256) {
				t.Fatalf("hint %d: %q is at %d, %v, want %d", hint, name, at, ok, i)
			}
		}
		for range 1000 {
			name := fmt.Sprint("x", r.Uint64())
			if _, ok := x.Lookup(name); ok {
				t.Fatalf("%q is found", name)
			}
		}
	}
}

// TestLongNames: a name may be longer than what a record has room to say.
func TestLongNames(t *testing.T) {
	for _, told := range []int{0, 3} {
		x := grown(told, 10, 0)
		long := strings.Repeat("n", longName-1)
		names := []string{"a", long, long + "n", long + "nn", "b"}
		for i, name := range names {
			add(t, x, name, int64(i), 1)
		}
		for range 2 {
			for i, name := range names {
				if at, ok := x.Lookup(name); at != i || !ok || x.Name(i) != name {
					t.Errorf("the name of %d bytes is at %d, %v", len(name), at, ok)
				}
			}
			x.Seal()
		}
	}
}

// TestDimsAreApart: appending to one tensor's shape does not change the next, and dims
// that no tensor took are gone.
func TestDimsAreApart(t *testing.T) {
	for hint := range 3 {
		x := &Index{}
		if hint > 0 {
			x.Grow(1, 1, hint)
		}
		for i, dims := range []tensor.Shape{{1}, {2, 3}, {}, {4}} {
			x.Dims(3)[2] = 77
			d := x.Dims(len(dims))
			_ = append(d, 88)
			copy(d, dims)
			_ = append(d, 99)
			x.Add(&Tensor{Name: []byte{'a' + byte(i)}, DType: tensor.Uint8, Shape: d})
			_ = append(x.Shape(i), 66)
		}
		for range 2 {
			if got := fmt.Sprint(x.Shape(0), x.Shape(1), x.Shape(2), x.Shape(3)); got != "[1] [2, 3] [] [4]" {
				t.Errorf("hint %d: %s", hint, got)
			}
			x.Seal()
		}
	}
}

// TestSeal: an index that was not told what comes has the same afterwards, in memory
// of its own, no more than that takes, although it collected it where others did.
func TestSeal(t *testing.T) {
	build := func(n int, told bool) *Index {
		x := &Index{}
		if told {
			x.Grow(n, 8*n, n)
		}
		for i := range n {
			d := Tensor{Name: fmt.Append(nil, "t", 3*i), DType: tensor.Uint8, Shape: tensor.Shape{int64(i)}, Offset: int64(i), Size: int64(i)}
			if i%7 == 3 {
				d.Quant = &tensor.Quantization{Scales: []float32{float32(i)}}
			}
			if x.Add(&d) != nil || x.Add(&d) == nil {
				t.Fatal("not added once")
			}
			if at, ok := x.LookupBytes(d.Name); at != i || !ok || x.Name(i) != string(d.Name) {
				t.Fatalf("tensor %d is not there while the index is filled", i)
			}
		}
		return x
	}
	for _, n := range []int{0, 1, 5, 42, 43, 1000, 70000, 3} {
		told, sealed := build(n, true), build(n, false)
		sealed.Seal()
		if other := build(n/2, false); other.Len() != n/2 { // in the memory that was given back
			t.Fatal(other.Len())
		}
		sealed.Seal()
		if told.Len() != n || sealed.Len() != n {
			t.Fatalf("%d and %d tensors of %d", told.Len(), sealed.Len(), n)
		}
		for i := range n {
			if d := cmp.Diff(described(told, i), described(sealed, i)); d != "" {
				t.Fatalf("tensor %d of %d (-told +sealed)\n%s", i, n, d)
			}
			if at, ok := sealed.Lookup(told.Name(i)); at != i || !ok {
				t.Fatalf("tensor %d of %d is at %d, %v", i, n, at, ok)
			}
		}
		if c := cap(sealed.records); c > n+n/3+16 {
			t.Errorf("room for %d tensors of %d", c, n)
		}
		if sealed.Add(&Tensor{Name: []byte("more")}) != nil {
			t.Error("nothing can be added any more")
		}
	}
}

// TestExtrasInAnyOrder adds tensors with and without what records have no room
// for, beyond the hint too, and asks for descriptions while adding and after.
func TestExtrasInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, hint := range []int{0, 3, 300} {
		x := grown(hint, 0, 0)
		var want []tensor.Info
		for i := range 300 {
			info := tensor.Info{Name: fmt.Sprint(i), DType: tensor.Uint8, Shape: tensor.Shape{int64(i)}, Offset: -1, Size: int64(i), Stored: int64(i)}
			if r.IntN(5) == 0 {
				info.Compression, info.Stored = "gzip", 7
			}
			if r.IntN(5) == 0 {
				info.Quant = &tensor.Quantization{Axis: i}
			}
			want = append(want, info)
			shape := info.Shape // not from Dims: to be copied
			if r.IntN(2) == 0 {
				shape = x.Dims(1)
				shape[0] = int64(i)
			}
			if x.Add(&Tensor{Name: []byte(info.Name), DType: info.DType, Shape: shape, Offset: -1, Size: info.Size, Stored: 7, Compression: info.Compression, Quant: info.Quant, Loaded: true}) != nil {
				t.Fatalf("tensor %d was refused", i)
			}
			if k := r.IntN(i + 1); r.IntN(10) == 0 {
				if diff := cmp.Diff(want[k], described(x, k)); diff != "" {
					t.Fatalf("tensor %d while adding (-want +got):\n%s", k, diff)
				}
			}
		}
		for i, w := range want {
			if diff := cmp.Diff(w, described(x, i)); diff != "" {
				t.Fatalf("hint %d: tensor %d (-want +got):\n%s", hint, i, diff)
			}
			if x.Compression(i) != w.Compression || x.Quant(i) != w.Quant {
				t.Errorf("tensor %d: %q %v", i, x.Compression(i), x.Quant(i))
			}
		}
	}
}

// TestSetQuant gives parameters to tensors that are in the index already.
func TestSetQuant(t *testing.T) {
	x := grown(3, 0, 0)
	for i := range 3 {
		x.Add(&Tensor{Name: fmt.Append(nil, i), DType: tensor.Uint8, Size: 5, Loaded: true})
	}
	q := &tensor.Quantization{}
	x.SetQuant(1, q)
	for i, want := range []*tensor.Quantization{nil, q, nil} {
		if info := described(x, i); x.Quant(i) != want || info.Quant != want || info.Stored != 5 {
			t.Errorf("tensor %d: %v, %+v", i, x.Quant(i), info)
		}
	}
}

// benchNames makes n names as large models have them, in one slice of memory.
func benchNames(n int) (names [][]byte, total int) {
	var all []byte
	for i := range n {
		name := fmt.Sprintf("experts.%d.linear.weight", i)
		all = append(all, name...)
		names = append(names, nil)
		names[i] = all[len(all)-len(name):]
	}
	return names, len(all)
}

// fill makes an index of those names.
func fill(names [][]byte, total int) *Index {
	x := grown(len(names), total, 2*len(names))
	t := &Tensor{DType: tensor.Float32, Size: 256}
	for _, name := range names {
		t.Name, t.Shape = name, x.Dims(2)
		t.Shape[0], t.Shape[1] = 8, 8
		x.Add(t)
	}
	return x
}

// TestIndexAllocations: a few, whatever the number of tensors, and none for a lookup.
func TestIndexAllocations(t *testing.T) {
	names, total := benchNames(1000)
	// The race detector's builds allocate what slices.Grow does not elsewhere.
	if n := testing.AllocsPerRun(5, func() { fill(names, total) }); n > 8 {
		t.Errorf("listing 1000 tensors allocates %v times", n)
	}
	x := fill(names, total)
	key := string(names[700])
	for what, f := range map[string]func(){
		"Lookup":      func() { x.Lookup(key) },
		"LookupBytes": func() { x.LookupBytes(names[3]) },
		"Name":        func() { x.Name(5) },
		"Shape":       func() { x.Shape(5) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
}

// BenchmarkAdd lists 10,000 tensors, as opening a file does.
func BenchmarkAdd(b *testing.B) {
	names, total := benchNames(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if x := fill(names, total); x.Len() != len(names) {
			b.Fatal(x.Len())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(names)), "ns/tensor")
}

// BenchmarkLookup looks up names in an order that jumps about.
func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{20, 300, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			names, total := benchNames(n)
			x := fill(names, total)
			keys := make([]string, n)
			for i := range keys {
				keys[i] = string(names[i*7919%n])
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, ok := x.Lookup(keys[i%n]); !ok {
					b.Fatal("missing")
				}
			}
		})
	}
}

// TestPlain: the quick look passes over tensors that are as they should be, and
// over no others.
func TestPlain(t *testing.T) {
	good := Tensor{DType: tensor.Float32, Shape: tensor.Shape{2, 3}, Offset: 8, Size: 24}
	for _, tt := range []struct {
		name   string
		change func(*Tensor)
		odd    bool
	}{
		{"good", func(*Tensor) {}, false},
		{"scalar", func(x *Tensor) { x.Shape, x.Size = nil, 4 }, false},
		{"to the last byte", func(x *Tensor) { x.Offset = 76 }, false},
		{"beyond", func(x *Tensor) { x.Offset = 77 }, true},
		{"far beyond", func(x *Tensor) { x.Offset = 1<<63 - 1 }, true},
		{"before", func(x *Tensor) { x.Offset = -1 }, true},
		{"larger", func(x *Tensor) { x.Size = 25 }, true},
		{"negative", func(x *Tensor) { x.Size = -24 }, true},
		{"empty", func(x *Tensor) { x.Shape, x.Size = tensor.Shape{0, 3}, 0 }, true},
		{"negative dims", func(x *Tensor) { x.Shape = tensor.Shape{-2, -3} }, true},
		{"overflow", func(x *Tensor) { x.Shape = tensor.Shape{1 << 62, 1 << 62} }, true},
		{"no dtype", func(x *Tensor) { x.DType, x.Size = tensor.Invalid, 0 }, true},
		{"loaded", func(x *Tensor) { x.Loaded = true }, true},
		{"another file", func(x *Tensor) { x.Space = 1 }, true},
	} {
		var x Index
		for _, name := range []string{"a", "b", "c"} {
			c := good
			if c.Name = []byte(name); name == "b" {
				tt.change(&c)
			}
			if x.Add(&c) != nil {
				t.Fatal("the name is taken")
			}
		}
		want := []int{3, 3, 3}
		if tt.odd {
			want = []int{1, 1, 3}
		}
		if got := []int{x.Plain(0, 100), x.Plain(1, 100), x.Plain(2, 100)}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", tt.name, got, want)
		}
	}
}
