package format

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// unpacked is a file whose tensors, of 1000 bytes each, must be loaded. With streams, checking one does not load it.
func unpacked(loads, streams *int) driver.Parsed {
	p := driver.Parsed{
		Load: func(int) ([]byte, error) { *loads++; return ramp(1000), nil },
		TensorSum: func(int) driver.Digest {
			return driver.Digest{Kind: driver.CRC32, Want: uint64(tensor.CRC32(ramp(1000)))}
		},
	}
	if streams != nil {
		p.Stream = func(_ int, w io.Writer) error {
			*streams++
			_, err := io.Copy(w, bytes.NewReader(ramp(1000)))
			return err
		}
	}
	return p
}

// unpackable lists n tensors that a driver loads.
func unpackable(n int, p driver.Parsed) *toy {
	d := &toy{parsed: p}
	for i := range n {
		d.tensors = append(d.tensors, loaded(u8(string(rune('a'+i)), -1, 1000)))
	}
	return d
}

// TestMaxMemoryOfKept: tensors that are kept count, the one that is too many is
// ErrLimit, and those that are there stay.
func TestMaxMemoryOfKept(t *testing.T) {
	const limit = 2500 + 4<<10
	account := driver.NewMemory(limit)
	m := open(t, source.FromBytes(nil), unpackable(4, unpacked(new(int), nil)), func(c *config) { c.parse.Memory = account })
	index := limit - account.Left()
	expect.OK(t, account.Reserve(4<<10-index))
	for i, want := range []error{nil, nil, tensor.ErrLimit, tensor.ErrLimit} {
		for range 2 {
			_, err := m.At(i).Bytes()
			if !errors.Is(err, want) || want != nil && !strings.Contains(err.Error(), "MaxMemory") {
				t.Errorf("tensor %d: %v, want %v", i, err, want)
			}
		}
	}
	if got := limit - account.Left(); got != 2000+4<<10 {
		t.Errorf("%d bytes are counted, want %d", got, 2000+4<<10)
	}
}

// TestEvictKept: Evict forgets decoded tensors, and counts them no more; slices of them stay.
func TestEvictKept(t *testing.T) {
	const limit = 1 << 20
	account := driver.NewMemory(limit)
	loads := 0
	f := unpacked(&loads, nil)
	m := open(t, source.FromBytes(nil), unpackable(3, f), func(c *config) { c.parse.Memory = account })
	index := limit - account.Left()
	for round := range 3 {
		b, err := m.At(round % 2).Bytes()
		expect.OK(t, err)
		if s := m.Stats(); s.Kept != 1000 || limit-account.Left() != index+1000 {
			t.Errorf("%d bytes are kept, %d counted", s.Kept, limit-account.Left()-index)
		}
		expect.OK(t, m.Evict())
		if s := m.Stats(); s.Kept != 0 || limit-account.Left() != index {
			t.Errorf("after Evict %d bytes are kept, %d counted", s.Kept, limit-account.Left()-index)
		}
		expect.Equal(t, ramp(1000), b)
	}
	if loads != 3 {
		t.Errorf("%d loads", loads)
	}
}

// TestMaxMemoryOfIndex: an index that takes more than allowed ends opening, whatever
// the driver makes of it.
func TestMaxMemoryOfIndex(t *testing.T) {
	c := toyConfig(unpackable(20, unpacked(new(int), nil)), func(c *config) { c.parse.Memory = driver.NewMemory(1000) })
	err := new(Model).openRegion(source.FromBytes(nil), c)
	if !errors.Is(err, tensor.ErrLimit) || !strings.Contains(err.Error(), "MaxMemory") {
		t.Errorf("%v, want ErrLimit that names the option", err)
	}
}

// TestVerifyKeepsNothing: verification keeps nothing of what it loads.
func TestVerifyKeepsNothing(t *testing.T) {
	loads := 0
	m := open(t, source.FromBytes(nil), unpackable(3, unpacked(&loads, nil)))
	if _, err := m.verify(t.Context(), &VerifyOptions{Workers: 1}); err != nil || loads != 3 || m.Stats().Kept != 0 {
		t.Errorf("%v, %d loads, %d bytes are kept", err, loads, m.Stats().Kept)
	}
}

// TestVerifyStreams: verification does not load what it can have piece by piece.
func TestVerifyStreams(t *testing.T) {
	loads, streams := 0, 0
	f := unpacked(&loads, &streams)
	m := open(t, source.FromBytes(nil), unpackable(3, f))
	_, err := m.verify(t.Context(), &VerifyOptions{Workers: 1})
	if err != nil || loads != 0 || streams != 3 || m.Stats().Kept != 0 {
		t.Errorf("%v, %d loads and %d streams, %d bytes are kept", err, loads, streams, m.Stats().Kept)
	}
}

// remoteModel has 16 tensors of 100 bytes behind a reader.
func remoteModel(t *testing.T, cache int64) (*Model, *requests) {
	t.Helper()
	d := &toy{}
	for i := range int64(16) {
		d.tensors = append(d.tensors, u8(string(rune('a'+i)), 100*i, 100))
	}
	r := &requests{ReaderAt: bytes.NewReader(ramp(1600))}
	return open(t, source.FromReaderAt(r, 1600), d, func(c *config) { c.options.CacheBytes = cache }), r
}

// TestCache: what was read is there the next time, the latest first, and never
// more of it than the caller allows.
func TestCache(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cache int64
		use   string
		want  int64 // requests
		kept  int64
	}{
		{"none", 0, "aaab", 4, 0},
		{"smaller than a tensor", 99, "aa", 2, 0},
		{"one", 100, "aabba", 3, 100},
		{"a little more than one", 199, "aba", 3, 100},
		{"three", 300, "abcabccba", 3, 300},
		{"the oldest goes", 300, "abcdbcda", 5, 300},
		{"use makes young", 300, "abcadab", 5, 300},
		{"all", 1 << 40, "abcdefghijklmnopabcdefghijklmnop", 16, 1600},
	} {
		m, r := remoteModel(t, tt.cache)
		for _, name := range tt.use {
			v, err := m.Tensor(string(name))
			expect.OK(t, err)
			b, err := v.Bytes()
			if off := v.Info().Offset; err != nil || !bytes.Equal(b, ramp(1600)[off:off+100]) {
				t.Fatalf("%s: %q: %v, %v", tt.name, name, b, err)
			}
			if kept := m.Stats().Kept; kept > tt.cache {
				t.Errorf("%s: %d bytes are kept, at most %d are allowed", tt.name, kept, tt.cache)
			}
		}
		if n, kept := r.n.Load(), m.Stats().Kept; n != tt.want || kept != tt.kept {
			t.Errorf("%s: %d requests, %d bytes kept, want %d and %d", tt.name, n, kept, tt.want, tt.kept)
		}
	}
}

// TestStats counts what is mapped, on the heap, behind a reader, copied and why.
func TestStats(t *testing.T) {
	mixed := &toy{
		tensors: []driver.Tensor{
			u8("plain", 0, 8), u8("nothing", 3, 0),
			{Name: []byte("aligned"), DType: tensor.Complex64, Shape: tensor.Shape{1}, Offset: 4, Size: 8},
			{Name: []byte("odd"), DType: tensor.Float32, Shape: tensor.Shape{1}, Offset: 2, Size: 4},
			{Name: []byte("packed"), DType: tensor.Uint8, Shape: tensor.Shape{4}, Offset: -1, Size: 4, Stored: 2, Compression: "gzip", Loaded: true},
			loaded(u8("decoded", 0, 4)),
		},
		parsed: driver.Parsed{Load: func(i int) ([]byte, error) { return ramp(4), nil }},
	}
	locked := &toy{tensors: mixed.tensors, parsed: driver.Parsed{Load: mixed.parsed.Load, NeedsKey: true}}
	type counts struct {
		File, Mapped, Heap int64
		ZeroCopy           int
		Copies             map[string]int
	}
	path := storedFile(t, "m.toy", ramp(16))
	mapped := new(source.Region)
	err := mapped.Open(path, source.Options{})
	expect.OK(t, err)
	isMapped := int64(0)
	if mapped.Mapped() {
		isMapped = 16
	}
	for _, tt := range []struct {
		name string
		r    *source.Region
		d    *toy
		want counts
	}{
		{"mapped", mapped, mixed, counts{16, isMapped, 16 - isMapped, 3, map[string]int{"misaligned": 1, "compressed": 1, "decoded": 1}}},
		{"heap", source.FromBytes(ramp(16)), mixed, counts{16, 0, 16, 3, map[string]int{"misaligned": 1, "compressed": 1, "decoded": 1}}},
		{"an odd address", source.FromBytes(ramp(17)[1:]), mixed, counts{16, 0, 16, 2, map[string]int{"misaligned": 2, "compressed": 1, "decoded": 1}}},
		{"locked", source.FromBytes(ramp(16)), locked, counts{16, 0, 16, 3, map[string]int{"misaligned": 1, "compressed": 1, "encrypted": 1}}},
		{"reader", source.FromReaderAt(bytes.NewReader(ramp(16)), 16), mixed, counts{16, 0, 0, 0, map[string]int{"behind a reader": 4, "compressed": 1, "decoded": 1}}},
	} {
		m := open(t, tt.r, tt.d)
		s := m.Stats()
		if n := s.Copies["byte order"]; !memory.LittleEndian && n > 0 {
			// Whatever else they are, those of several bytes are copies for that alone.
			lost := n - tt.want.Copies["misaligned"]
			delete(tt.want.Copies, "misaligned")
			tt.want.Copies["byte order"], tt.want.ZeroCopy = n, tt.want.ZeroCopy-lost
		}
		if d := cmp.Diff(tt.want, counts{s.FileSize, s.Mapped, s.Heap, s.ZeroCopy, s.Copies}); d != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, d)
		}
		zero := 0
		for _, v := range m.Tensors() {
			if v.ZeroCopy() {
				zero++
			}
		}
		if zero != s.ZeroCopy || s.Lent || s.Kept != 0 || s.Verified != 0 {
			t.Errorf("%s: %d views are zero-copy: %+v", tt.name, zero, s)
		}
		if s.Resident > s.Mapped+s.Heap || s.Resident < s.Heap && s.Resident != -1 {
			t.Errorf("%s: %d bytes are resident: %+v", tt.name, s.Resident, s)
		}
	}
}

// TestLock: files are locked in memory when the model is open, those that are mapped later then.
func TestLock(t *testing.T) {
	testhost.NeedResident(t)
	const size = 3<<20 + 100
	dir := t.TempDir()
	path := filepath.Join(dir, "m.toy")
	put(t, path, make([]byte, size))
	put(t, filepath.Join(dir, "w.bin"), make([]byte, size))
	d := &toy{
		tensors: []driver.Tensor{u8("m", 0, size), in(1, u8("w", 0, size))},
		dir:     func(dir driver.Dir) error { _, err := dir.Declare("w.bin"); return err },
	}
	r := new(source.Region)
	err := r.Open(path, source.Options{Parse: true})
	expect.OK(t, err)
	m := &Model{}
	defer m.Close()
	err = m.openRegion(r, toyConfig(d, func(c *config) { c.path, c.options.Lock = path, true }))
	if errors.Is(err, tensor.ErrLimit) {
		t.Skip(err)
	}
	expect.OK(t, err)
	for i, want := range []int64{size, 2 * size} {
		if s := m.Stats(); s.Resident != want || s.Locked != want {
			t.Errorf("%d files: %d bytes are resident, %d locked, want %d", i+1, s.Resident, s.Locked, want)
		}
		_, err := m.Tensor("w")
		expect.OK(t, err)
	}
	if err := m.Evict(); err != nil || m.Stats().Resident != 2*size {
		t.Errorf("Evict took locked pages: %v", err)
	}
}

// TestLockRefused: what cannot be locked is an error.
func TestLockRefused(t *testing.T) {
	err := new(Model).openRegion(source.FromReaderAt(bytes.NewReader(make([]byte, 10)), 10), toyConfig(&toy{}, func(c *config) { c.options.Lock = true }))
	wantToyError(t, "a reader", err, tensor.ErrUnsupported, "Options.Lock")
}
