package driver

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// add adds a uint8 tensor, or fails the test.
func add(t *testing.T, x *Index, name string, off, size int64) {
	t.Helper()
	if x.Add(&Tensor{Name: []byte(name), DType: tensor.Uint8, Shape: tensor.Shape{size}, Offset: off, Size: size}) != nil {
		t.Fatalf("Add(%q) says the name is taken", name)
	}
}

// TestIndexAgainstList fills indexes with random tensors, with and without hints, and compares them with a list while they
// are filled, afterwards, and when they are sealed.
func TestIndexAgainstList(t *testing.T) {
	sizes := []int{0, 1, 5, 42, 43, 1000, 70_000, 3}
	for seed := range 24 {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		n := sizes[seed%len(sizes)]
		f := &filled{x: &Index{}, grows: seed%3 > 0}
		if hint := []int{0, n, 3}[seed%3]; hint > 0 {
			f.x.Grow(hint, 8*hint, hint)
		}
		for range n {
			f.add(t, r)
		}
		f.check(t, r, n)
		f.x.Seal()
		f.check(t, r, n)
		if seed%3 == 0 && cap(f.x.records) > n+n/3+16 {
			t.Errorf("room for %d tensors of %d", cap(f.x.records), n)
		}
		other := &filled{x: &Index{}} // in the memory that was returned
		for range n {
			other.add(t, r)
		}
		f.add(t, r)
		f.check(t, r, n)
	}
}

// filled is an index and what it should have.
type filled struct {
	x     *Index
	added []Tensor
	want  []tensor.Info
	grows bool // room is made now and then
}

// add adds a random tensor, or one whose name is taken.
func (f *filled) add(t *testing.T, r *rand.Rand) {
	t.Helper()
	i := len(f.want)
	info := tensor.Info{Name: fmt.Sprint(i, "-", r.Uint32()), DType: tensor.Uint8, Offset: int64(i), Size: r.Int64N(100)}
	if r.IntN(5) == 0 {
		info.Compression, info.Offset = "gzip", -1
	}
	if r.IntN(5) == 0 {
		info.Quant = &tensor.Quantization{Axis: i}
	}
	if f.grows && r.IntN(40) == 0 {
		f.x.Grow(10, 20, 10)
	}
	f.x.Dims(3)[2] = 77 // dims that no tensor takes
	d := f.x.Dims(r.IntN(3))
	_ = append(d, 88)
	for j := range d {
		d[j] = r.Int64N(9)
	}
	info.Shape, info.Stored = d.Clone(), info.Size
	if r.IntN(2) == 0 {
		d = d.Clone()
	}
	add := Tensor{Name: []byte(info.Name), DType: info.DType, Shape: d, Offset: info.Offset, Size: info.Size, Compression: info.Compression, Quant: info.Quant}
	add.Space, add.Loaded = Space(r.IntN(3)), r.IntN(5) == 0
	info.File = int(add.Space)
	if info.Compression != "" {
		info.Stored = 7
	}
	add.Stored = 7
	if i > 0 && r.IntN(10) == 0 {
		taken := add
		taken.Name = []byte(f.want[r.IntN(i)].Name)
		if !errors.Is(f.x.Add(&taken), tensor.ErrCorrupt) {
			t.Fatalf("%q was added twice", taken.Name)
		}
	}
	if err := f.x.Add(&add); err != nil {
		t.Fatal(err)
	}
	_ = append(f.x.Shape(i), 66)
	f.added, f.want = append(f.added, add), append(f.want, info)
	if k := r.IntN(i + 1); r.IntN(20) == 0 {
		f.want[k].Quant = &tensor.Quantization{Axis: -k}
		f.x.SetQuant(k, f.want[k].Quant)
		f.same(t, k)
	}
}

// same compares tensor i.
func (f *filled) same(t *testing.T, i int) {
	t.Helper()
	in, w := &f.added[i], &f.want[i]
	var info tensor.Info
	f.x.Describe(i, &info)
	if d := cmp.Diff(*w, info); d != "" {
		t.Fatalf("tensor %d of %d (-want +got):\n%s", i, len(f.want), d)
	}
	at, ok := f.x.Lookup(w.Name)
	atb, okb := f.x.LookupBytes([]byte(w.Name))
	s, off, size := f.x.Place(i)
	got := []any{at, atb, ok, okb, f.x.Name(i), s, off, size, f.x.Size(i), f.x.Loaded(i), f.x.Compression(i), f.x.DType(i)}
	want := []any{i, i, true, true, w.Name, in.Space, w.Offset, w.Size, w.Size, in.Loaded, w.Compression, w.DType}
	if !slices.Equal(want, got) {
		t.Fatalf("tensor %d: %v, want %v", i, got, want)
	}
	f.lacks(t, w.Name+"\x00")
	f.lacks(t, w.Name[:len(w.Name)-1])
}

// lacks looks for a name that is not there.
func (f *filled) lacks(t *testing.T, name string) {
	t.Helper()
	at, ok := f.x.Lookup(name)
	if atb, okb := f.x.LookupBytes([]byte(name)); ok || okb || at != 0 || atb != 0 {
		t.Fatalf("%q is found at %d and %d", name, at, atb)
	}
}

// check compares all tensors, or some of many, and looks for names that are not there.
func (f *filled) check(t *testing.T, r *rand.Rand, n int) {
	t.Helper()
	if f.x.Len() != len(f.want) {
		t.Fatalf("%d tensors, want %d", f.x.Len(), len(f.want))
	}
	for i := 0; i < len(f.want); i += 1 + n/1000 {
		f.same(t, i)
	}
	f.lacks(t, "")
	for range 100 {
		f.lacks(t, fmt.Sprint("x", r.Uint64()))
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
	x := &Index{}
	x.Grow(len(names), total, 2*len(names))
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
	most := 5.0 // the index and its four lists
	if testhost.Race {
		most += 4 // in such builds slices.Grow allocates twice
	}
	if n := testing.AllocsPerRun(5, func() { fill(names, total) }); n > most {
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

// TestCheckName compares with tensor.CheckName, and counts what a long name costs.
func TestCheckName(t *testing.T) {
	for _, name := range []string{"", "w", "a\x00b", "\xff", "Größe", "encoder.layer.000.attention.self.query.weight"} {
		if want, got := tensor.CheckName(name), CheckName([]byte(name)); fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	for at := range 17 { // any byte anywhere, in names of 16 and 17 bytes
		for c := range 256 {
			name := bytes.Repeat([]byte{'w'}, max(16, at+1))
			name[at] = byte(c)
			if want, got := tensor.CheckName(string(name)), CheckName(name); fmt.Sprint(want) != fmt.Sprint(got) {
				t.Errorf("%q: %v, want %v", name, got, want)
			}
		}
	}
	long := []byte("encoder.layer.000.attention.self.query.weight")
	if diff := cmp.Diff(0.0, testing.AllocsPerRun(10, func() { _ = CheckName(long) })); diff != "" {
		t.Errorf("allocations (-want +got)\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	for k, want := range map[Kind]string{NoSum: "", XXH64: "xxh64", CRC32: "crc32", CRC32C: "crc32c", Adler32: "adler32", Adler32 + 1: "", 255: ""} {
		if k.String() != want {
			t.Errorf("kind %d is %q", k, k.String())
		}
	}
}

// TestEmptyIndex looks up names whose hashes are negative numbers where int has 32 bits.
func TestEmptyIndex(t *testing.T) {
	var x Index
	for i := range 64 {
		if _, ok := x.Lookup(fmt.Sprint(i)); ok {
			t.Errorf("%d is found", i)
		}
	}
}
