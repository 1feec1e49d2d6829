package vector

import (
	"errors"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/memory"
)

// compareXXH64 sums p at once, and after some bytes were written.
func compareXXH64(t *testing.T, p []byte, before int) {
	t.Helper()
	if got, want := XXH64(p), xxhash.Sum64(p); got != want {
		t.Fatalf("%d bytes: %#x, want %#x", len(p), got, want)
	}
	before = min(before, len(p))
	got, want := xxhash.New(), xxhash.New()
	got.Write(p[:before])
	want.Write(p[:before])
	for range 2 { // what is left of the first is where the second begins
		WriteXXH64(got, p[before:])
		want.Write(p[before:])
	}
	if got.Sum64() != want.Sum64() {
		t.Fatalf("%d bytes after %d: %#x, want %#x", len(p)-before, before, got.Sum64(), want.Sum64())
	}
}

// TestXXH64 compares with the twin: lengths around those that the vector loop begins with,
// all up to a few steps beyond, at all alignments; and large ones.
func TestXXH64(t *testing.T) {
	data := memory.Aligned(3*block + 4096)
	copy(data, random(len(data)))
	for n := range 4097 {
		compareXXH64(t, data[n%64:][:n], n%100)
	}
	for _, from := range []int{xxhWorth, 4 * xxhWorth, block, 2 * block} {
		for i := range 600 {
			if testing.Short() && i%7 > 0 {
				continue
			}
			n := from - 100 + i
			compareXXH64(t, data[i%64:][:n], 0)
			compareXXH64(t, data[i%64:][:n+i%131], i%131)
		}
	}
	compareXXH64(t, data[1:], 77)
}

// TestXXH64Blocks compares the vector loop by itself, at every number of steps.
func TestXXH64Blocks(t *testing.T) {
	if !haveXXH64 {
		t.Skip("no vector loop on this processor")
	}
	data := random(64*xxhStep + 64)
	for n := range len(data) - 63 {
		p := data[n%64:][:n]
		if got, want := xxhVector(p), xxhash.Sum64(p); got != want {
			t.Fatalf("%d bytes: %#x, want %#x", n, got, want)
		}
	}
}

// xxhVector is XXH64 however few bytes there are.
func xxhVector(p []byte) uint64 {
	var d xxhash.Digest
	s := xxhEmpty
	d.Write(s.blocks(&d, p))
	return d.Sum64()
}

// TestXXH64Allocs: a sum of bytes that are there allocates nothing.
func TestXXH64Allocs(t *testing.T) {
	data := random(2 * block)
	if n := testing.AllocsPerRun(20, func() { XXH64(data) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestXXH64Each compares parts of all kinds of lengths, and counts what is reported of them.
func TestXXH64Each(t *testing.T) {
	data := random(5 * block)
	lengths := []int{0, 1, 63, 64, 65, 3 * block, 127, 128, 2*block + 1, 5, block, 5*block - 64, 0, 4096, 31}
	for n := range len(lengths) + 1 {
		var parts [][]byte
		var want []uint64
		for i, size := range lengths[:n] {
			at := min(i%64, len(data)-size)
			parts = append(parts, data[at:at+size])
			want = append(want, xxhash.Sum64(data[at:at+size]))
		}
		sums, done := make([]uint64, n), make([]int, n)
		err := XXH64Each(sums, parts, func(i, n int) error { done[i] += n; return nil })
		if err != nil || !slices.Equal(sums, want) || !slices.Equal(done, lengths[:n]) {
			t.Fatalf("%d parts: %x, want %x; %v of %v bytes, %v", n, sums, want, done, lengths[:n], err)
		}
	}
	enough := errors.New("enough")
	for at := range 12 {
		calls := 0
		err := XXH64Each(make([]uint64, 2), [][]byte{data, data[1:]}, func(i, n int) error {
			if calls++; calls > at {
				return enough
			}
			return nil
		})
		if last := min(at+1, 10); calls < last || calls > at+1 || calls <= at && err != nil || calls > at && err != enough {
			t.Fatalf("ended at call %d of %d: %v", calls, at+1, err)
		}
	}
}

func FuzzXXH64(f *testing.F) {
	f.Add(random(1000), uint16(20_000), uint8(5))
	f.Fuzz(func(t *testing.T, data []byte, repeat uint16, before uint8) {
		long := data
		for len(data) > 0 && len(long) < int(repeat)*4 {
			long = append(long[:len(long):len(long)], data...)
		}
		compareXXH64(t, long, int(before))
		parts := [][]byte{long, data, long[min(len(long), int(before)):]}
		sums := make([]uint64, len(parts))
		_ = XXH64Each(sums, parts, func(int, int) error { return nil })
		for i, p := range parts {
			if want := xxhash.Sum64(p); sums[i] != want {
				t.Fatalf("part %d of %d bytes: %#x, want %#x", i, len(p), sums[i], want)
			}
		}
	})
}

// BenchmarkXXH64 compares with reading, and the twin with the vector loop.
func BenchmarkXXH64(b *testing.B) {
	data := random(1 << 20)
	b.Run("read", func(b *testing.B) {
		floor.Pairs(b, pairs, func() error { XXH64(data); return nil }, func() error { floor.Read(data); return nil })
	})
	b.Run("two", func(b *testing.B) {
		parts, sums := [][]byte{data[:len(data)/2], data[len(data)/2:]}, make([]uint64, 2)
		floor.Pairs(b, pairs, func() error { return XXH64Each(sums, parts, func(int, int) error { return nil }) },
			func() error { floor.Read(data); return nil })
	})
	b.Run("twin", func(b *testing.B) {
		floor.Pairs(b, pairs, func() error { xxhash.Sum64(data); return nil }, func() error { XXH64(data); return nil })
	})
}
