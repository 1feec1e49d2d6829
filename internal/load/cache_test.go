package load

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// remoteModel has 16 tensors of 100 bytes behind a reader.
func remoteModel(t *testing.T, cache int64) (*Model, *requests) {
	t.Helper()
	d := &toy{}
	for i := range int64(16) {
		d.tensors = append(d.tensors, u8(string(rune('a'+i)), 100*i, 100))
	}
	r := &requests{ReaderAt: bytes.NewReader(ramp(1600))}
	return open(t, source.FromReaderAt(r, 1600), d, func(c *Config) { c.Options.CacheBytes = cache }), r
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
			must(t, err)
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
	path := stored(t, "m.toy", ramp(16))
	mapped, err := source.Open(path, source.Options{})
	must(t, err)
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
