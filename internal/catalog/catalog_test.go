package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/tensor"
)

// ramp returns n bytes.
func ramp(n int) []byte {
	b := tensor.AlignedBytes(n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// add adds a uint8 tensor, or fails the test.
func add(t *testing.T, c *Catalog, name string, off, size int64) {
	t.Helper()
	if !c.Add(&Tensor{Name: []byte(name), DType: tensor.Uint8, Shape: tensor.Shape{size}, Offset: off, Size: size}) {
		t.Fatalf("Add(%q) says the name is taken", name)
	}
}

func TestCatalog(t *testing.T) {
	r := mapped.FromBytes(ramp(64))
	r.SetOrigin("test", "file.test")
	c := New(r, "test", "7", 3, 6, 3)
	q := &tensor.Quantization{Scales: []float32{1}}
	dims := c.Dims(2)
	dims[0], dims[1] = 2, 4
	c.Add(&Tensor{Name: []byte("w"), DType: tensor.Float16, Shape: dims, Offset: 8, Size: 16, Quant: q})
	c.Add(&Tensor{Name: []byte("packed"), DType: tensor.Int8, Shape: tensor.Shape{9}, Offset: -1, Size: 9, Stored: 4, Compression: "gzip", Lazy: true})
	c.Add(&Tensor{Name: []byte("scalar"), DType: tensor.Uint8, Offset: 63, Size: 1})
	want := []tensor.Info{
		{Name: "w", DType: tensor.Float16, Shape: tensor.Shape{2, 4}, Offset: 8, Size: 16, Stored: 16, Quant: q},
		{Name: "packed", DType: tensor.Int8, Shape: tensor.Shape{9}, Offset: -1, Size: 9, Stored: 4, Compression: "gzip"},
		{Name: "scalar", DType: tensor.Uint8, Shape: tensor.Shape{}, Offset: 63, Size: 1, Stored: 1},
	}
	var got []tensor.Info
	for name, v := range c.Tensors() {
		if name != v.Name() {
			t.Errorf("the walk shows %q as %q", v.Name(), name)
		}
		got = append(got, v.Info())
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for i, info := range want {
		at, ok := c.Index(info.Name)
		atb, okb := c.IndexBytes([]byte(info.Name))
		v, okv := c.Tensor(info.Name)
		if at != i || atb != i || !ok || !okb || !okv || v.Name() != info.Name || c.Info(i).Name != info.Name {
			t.Errorf("%q is found at %d and %d: %v %v %v", info.Name, at, atb, ok, okb, okv)
		}
	}
	for _, name := range []string{"", "W", "w\x00", "packe", "packedscalar", "nothing"} {
		if i, ok := c.Index(name); ok || i != 0 {
			t.Errorf("Index(%q) = %d, %v", name, i, ok)
		}
		if i, ok := c.IndexBytes([]byte(name)); ok || i != 0 {
			t.Errorf("IndexBytes(%q) = %d, %v", name, i, ok)
		}
		if v, ok := c.Tensor(name); ok || v.Name() != "" {
			t.Errorf("Tensor(%q) = %+v, %v", name, v.Info(), ok)
		}
	}
	if c.Len() != 3 || c.Format() != "test" || c.Version() != "7" || c.Region() != r {
		t.Errorf("%d tensors, %s %s", c.Len(), c.Format(), c.Version())
	}
}

func TestEmptyCatalog(t *testing.T) {
	c := New(mapped.FromBytes(nil), "test", "1", 0, 0, 0)
	if _, ok := c.Tensor("w"); ok || c.Len() != 0 {
		t.Error("an empty catalog finds something")
	}
	for range c.Tensors() {
		t.Error("an empty catalog lists something")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestDuplicates: a name that is taken adds nothing, wherever it comes.
// TestMoreThanToldOf looks up what is not there after more tensors came than
// New had room for: the search must meet a free slot.
func TestMoreThanToldOf(t *testing.T) {
	for told := range 3 {
		c := New(mapped.FromBytes(ramp(64)), "test", "1", told, 0, 0)
		for i := range 20 {
			if _, ok := c.Index("none"); ok {
				t.Fatal("found what is not there")
			}
			add(t, c, fmt.Sprint("t", i), 0, 4)
		}
	}
}

func TestDuplicates(t *testing.T) {
	c := New(mapped.FromBytes(ramp(10)), "test", "1", 2, 10, 2)
	add(t, c, "a", 0, 1)
	add(t, c, "b", 1, 1)
	for range 3 {
		if c.Add(&Tensor{Name: []byte("a"), DType: tensor.Int8, Offset: 5, Size: 1}) {
			t.Error("a name was added twice")
		}
	}
	add(t, c, "c", 2, 1)
	var got []string
	for name, v := range c.Tensors() {
		got = append(got, fmt.Sprint(name, v.Info().Offset))
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
		c := New(mapped.FromBytes(ramp(256)), "test", "1", hint, 8*hint, hint)
		want := map[string]int{}
		for range n {
			// One name in ten comes again.
			name := fmt.Sprint(r.IntN(10 * n))
			if r.IntN(10) == 0 && len(want) > 0 {
				name = c.Info(r.IntN(len(want))).Name
			}
			shape := c.Dims(1)
			shape[0] = int64(len(want) % 256)
			added := c.Add(&Tensor{Name: []byte(name), DType: tensor.Uint8, Shape: shape, Offset: 0, Size: shape[0]})
			if _, taken := want[name]; added == taken {
				t.Fatalf("Add(%q) = %v", name, added)
			}
			if added {
				want[name] = len(want)
			}
		}
		if c.Len() != len(want) {
			t.Fatalf("%d tensors, want %d", c.Len(), len(want))
		}
		for name, i := range want {
			if at, ok := c.Index(name); !ok || at != i || c.Info(i).Name != name || c.Info(i).Shape[0] != int64(i%256) {
				t.Fatalf("hint %d: %q is at %d, %v, want %d: %+v", hint, name, at, ok, i, c.Info(i))
			}
		}
		for range 1000 {
			name := fmt.Sprint("x", r.Uint64())
			if _, ok := c.Index(name); ok {
				t.Fatalf("%q is found", name)
			}
		}
	}
}

// TestAllocations: a few, and none for a lookup.
func TestAllocations(t *testing.T) {
	names, total := benchNames(1000)
	r := mapped.FromBytes(ramp(256))
	if n := testing.AllocsPerRun(5, func() { fill(r, names, total) }); n > 5 {
		t.Errorf("listing 1000 tensors allocates %v times", n)
	}
	c := fill(r, names, total)
	key := string(names[700])
	if n := testing.AllocsPerRun(100, func() { c.Tensor(key) }); n != 0 {
		t.Errorf("a lookup allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { c.IndexBytes(names[3]) }); n != 0 {
		t.Errorf("a lookup by bytes allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		for range c.Tensors() {
		}
	}); n > 1 {
		t.Errorf("a walk allocates %v times", n)
	}
}

// TestDimsAreApart: appending to one tensor's shape does not change the next.
func TestDimsAreApart(t *testing.T) {
	c := New(mapped.FromBytes(nil), "test", "1", 0, 0, 1)
	a := c.Dims(1)
	a[0] = 1
	b := c.Dims(2) // grows beyond the hint
	b[0], b[1] = 2, 3
	d := c.Dims(0)
	e := c.Dims(1)
	e[0] = 4
	_ = append(a, 99)
	_ = append(b, 99)
	_ = append(d, 99)
	if got := fmt.Sprint(a, b, d, e); got != "[1] [2, 3] [] [4]" {
		t.Error(got)
	}
}

// TestLazy: Fetch is asked once for each tensor, also by many at once, and its
// errors are not kept.
func TestLazy(t *testing.T) {
	c := New(mapped.FromBytes(ramp(8)), "test", "1", 3, 0, 0)
	add(t, c, "plain", 0, 8)
	for _, name := range []string{"a", "b"} {
		c.Add(&Tensor{Name: []byte(name), DType: tensor.Uint8, Shape: tensor.Shape{3}, Offset: -1, Size: 3, Stored: 2, Compression: "gzip", Lazy: true})
	}
	var fetches [3]atomic.Int32
	broken := errors.New("broken")
	c.Fetch = func(i int) ([]byte, error) {
		if fetches[i].Add(1) == 1 && i == 2 {
			return nil, broken
		}
		return bytes.Repeat([]byte{byte(i)}, 3), nil
	}
	a, _ := c.Tensor("a")
	if a.ZeroCopy() {
		t.Error("a lazy tensor says it is a view")
	}
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 10 {
				if b, err := a.Bytes(); err != nil || !bytes.Equal(b, []byte{1, 1, 1}) {
					t.Errorf("%v, %v", b, err)
				}
				a.Use(func([]byte) error { return nil })
			}
		}()
	}
	group.Wait()
	b, _ := c.Tensor("b")
	if _, err := b.Bytes(); !errors.Is(err, broken) {
		t.Errorf("the first fetch of b: %v", err)
	}
	if got, err := b.Bytes(); err != nil || !bytes.Equal(got, []byte{2, 2, 2}) {
		t.Errorf("the second fetch of b: %v, %v", got, err)
	}
	if fetches[0].Load() != 0 || fetches[1].Load() != 1 || fetches[2].Load() != 2 {
		t.Errorf("fetched %d, %d and %d times", fetches[0].Load(), fetches[1].Load(), fetches[2].Load())
	}
	kept, _ := a.Bytes()
	c.Close()
	if _, err := a.Bytes(); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if !bytes.Equal(kept, []byte{1, 1, 1}) {
		t.Error("Close changed a copy that was handed out")
	}
}

// TestResolve: views of lazy tensors can come from elsewhere.
func TestResolve(t *testing.T) {
	c := New(mapped.FromBytes(ramp(4)), "test", "1", 2, 0, 0)
	c.Add(&Tensor{Name: []byte("far"), DType: tensor.Uint8, Shape: tensor.Shape{1}, Offset: 100, Size: 1, Lazy: true})
	add(t, c, "near", 0, 4)
	other, err := tensor.FromBytes("far", tensor.Uint8, tensor.Shape{1}, []byte{42})
	if err != nil {
		t.Fatal(err)
	}
	c.Resolve = func(i int) tensor.View {
		if i != 0 {
			t.Errorf("tensor %d is not lazy", i)
		}
		return other
	}
	for name, want := range map[string][]byte{"far": {42}, "near": {0, 1, 2, 3}} {
		v, _ := c.Tensor(name)
		if b, err := v.Bytes(); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
}

// TestExtrasInAnyOrder adds tensors with and without what records have no room
// for, beyond the hint too, and asks for descriptions while adding and after.
func TestExtrasInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, hint := range []int{0, 3, 300} {
		c := New(mapped.FromBytes(nil), "test", "1", hint, 0, 0)
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
				shape = c.Dims(1)
				shape[0] = int64(i)
			}
			if !c.Add(&Tensor{Name: []byte(info.Name), DType: info.DType, Shape: shape, Offset: -1, Size: info.Size, Stored: 7, Compression: info.Compression, Quant: info.Quant, Lazy: true}) {
				t.Fatalf("tensor %d was refused", i)
			}
			if k := r.IntN(i + 1); r.IntN(10) == 0 {
				if diff := cmp.Diff(want[k], *c.Info(k)); diff != "" {
					t.Fatalf("tensor %d while adding (-want +got):\n%s", k, diff)
				}
			}
		}
		for i, w := range want {
			if diff := cmp.Diff(w, *c.Info(i)); diff != "" {
				t.Fatalf("hint %d: tensor %d (-want +got):\n%s", hint, i, diff)
			}
			if first, again := c.Info(i), c.Info(i); first != again {
				t.Fatal("a description moved")
			}
			if c.Name(i) != w.Name || c.DType(i) != w.DType || !c.Shape(i).Equal(w.Shape) || c.Quant(i) != w.Quant {
				t.Errorf("tensor %d: %q %v %v %v", i, c.Name(i), c.DType(i), c.Shape(i), c.Quant(i))
			}
		}
	}
}

// TestSetQuant gives parameters to tensors that are in the catalog already.
func TestSetQuant(t *testing.T) {
	c := New(mapped.FromBytes(nil), "test", "1", 3, 0, 0)
	for i := range 3 {
		c.Add(&Tensor{Name: fmt.Append(nil, i), DType: tensor.Uint8, Size: 5, Lazy: true})
	}
	q := &tensor.Quantization{}
	c.SetQuant(1, q)
	for i, want := range []*tensor.Quantization{nil, q, nil} {
		if info := c.Info(i); c.Quant(i) != want || info.Quant != want || info.Stored != 5 {
			t.Errorf("tensor %d: %v, %+v", i, c.Quant(i), info)
		}
	}
}

// TestInfoConcurrently makes the same descriptions from several goroutines.
func TestInfoConcurrently(t *testing.T) {
	const n = 1000
	c := New(mapped.FromBytes(nil), "test", "1", n, 0, 0)
	for i := range n {
		c.Add(&Tensor{Name: fmt.Append(nil, i), DType: tensor.Uint8, Lazy: true})
	}
	infos := make([][n]*tensor.Info, 4)
	var group sync.WaitGroup
	for g := range infos {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range n {
				i = (i*7 + g*100) % n
				infos[g][i] = c.Info(i)
			}
		}()
	}
	group.Wait()
	for i := range n {
		if infos[0][i].Name != fmt.Sprint(i) || infos[0][i] != infos[1][i] || infos[0][i] != infos[2][i] || infos[0][i] != infos[3][i] {
			t.Fatalf("tensor %d: %v", i, infos[0][i])
		}
	}
}

func TestSelect(t *testing.T) {
	c := New(mapped.FromBytes(nil), "test", "1", 3, 0, 0)
	for _, name := range []string{"a", "b", "c"} {
		c.Add(&Tensor{Name: []byte(name), DType: tensor.Uint8, Lazy: true})
	}
	for _, tt := range []struct {
		names []string
		want  []int
	}{{nil, []int{0, 1, 2}}, {[]string{"c", "a", "c"}, []int{0, 2}}} {
		got, err := c.Select(tt.names)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.names, diff)
		}
	}
	if _, err := c.Select([]string{"a", "x"}); !errors.Is(err, tensor.ErrCorrupt) {
		t.Errorf("a name that is none: %v", err)
	}
}

// TestMisaligned: a tensor at an odd address is copied once and kept; it dies
// with the catalog as a view does.
func TestMisaligned(t *testing.T) {
	c := New(mapped.FromBytes(ramp(32)), "test", "1", 1, 0, 0)
	c.Add(&Tensor{Name: []byte("w"), DType: tensor.Uint32, Shape: tensor.Shape{2}, Offset: 3, Size: 8})
	v, _ := c.Tensor("w")
	first, err := v.Bytes()
	if err != nil || !bytes.Equal(first, ramp(32)[3:11]) || tensor.Address(first)%4 != 0 || v.ZeroCopy() {
		t.Fatalf("%v, %v, at %#x, ZeroCopy %v", first, err, tensor.Address(first), v.ZeroCopy())
	}
	if second, _ := v.Bytes(); &first[0] != &second[0] {
		t.Error("copied twice")
	}
	c.Close()
	if _, err := v.Bytes(); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestRemote: behind a reader every use reads anew, and sees what is there then.
func TestRemote(t *testing.T) {
	data := ramp(16)
	c := New(mapped.FromReaderAt(bytes.NewReader(data), 16), "test", "1", 1, 0, 0)
	add(t, c, "w", 4, 4)
	v, _ := c.Tensor("w")
	if b, err := v.Bytes(); err != nil || !bytes.Equal(b, []byte{4, 5, 6, 7}) || v.ZeroCopy() {
		t.Fatalf("%v, %v, ZeroCopy %v", b, err, v.ZeroCopy())
	}
	data[4] = 99
	if b, err := v.Bytes(); err != nil || b[0] != 99 {
		t.Errorf("%v, %v", b, err)
	}
	c.Close()
	if _, err := v.Bytes(); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestOwner: views of a mapped file live and die with the catalog.
func TestOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, ramp(4096), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := mapped.Open(path, mapped.Options{Debug: true})
	if err != nil {
		t.Fatal(err)
	}
	r.SetOrigin("test", path)
	c := New(r, "test", "1", 2, 0, 0)
	add(t, c, "w", 64, 64)
	add(t, c, "empty", 4096, 0)
	if f, p := c.Origin(); f != "test" || p != path {
		t.Errorf("Origin = %q, %q", f, p)
	}
	if err := c.Prefetch(); err != nil {
		t.Errorf("Prefetch: %v", err)
	}
	v, _ := c.Tensor("w")
	empty, _ := c.Tensor("empty")
	b, err := v.Bytes()
	if err != nil || !v.ZeroCopy() || tensor.Address(b) != tensor.Address(r.Bytes())+64 {
		t.Errorf("%v, ZeroCopy %v", err, v.ZeroCopy())
	}
	unpin, err := c.Pin()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if !bytes.Equal(b, ramp(4096)[64:128]) {
		t.Error("pinned bytes changed")
	}
	unpin()
	late, ok := c.Tensor("w")
	if !ok {
		t.Error("a name is lost after Close")
	}
	for name, v := range map[string]tensor.View{"taken before": v, "taken after": late, "empty": empty} {
		if _, err := v.Bytes(); !errors.Is(err, tensor.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Prefetch(); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("Prefetch after Close: %v", err)
	}
	if _, err := c.Pin(); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("Pin after Close: %v", err)
	}
}
