package save

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format/driver"
)

// TestBuffer: any mix of writes, reads and truncations gives the same file
// with and without the buffer.
func TestBuffer(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var plain Memory
		b, err := create(filepath.Join(t.TempDir(), "f"), 0o600)
		must(t, err)
		t.Cleanup(func() { b.close() })
		off := int64(0)
		for range 60 {
			switch rng.IntN(20) {
			case 0:
				off = int64(rng.IntN(3 * piece))
			case 1, 2, 3:
				off += int64(rng.IntN(8192))
			case 4:
				size := int64(rng.IntN(3 * piece))
				must(t, b.Truncate(size))
				must(t, plain.Truncate(size))
				continue
			case 5:
				var got, want [100]byte
				n, _ := b.ReadAt(got[:], off/2)
				m, _ := plain.ReadAt(want[:], off/2)
				if diff := cmp.Diff(want[:m], got[:n]); diff != "" {
					t.Fatalf("seed %d: ReadAt (-want +got):\n%s", seed, diff)
				}
				continue
			}
			n := rng.IntN([]int{10, 1000, piece, 2 * piece}[rng.IntN(4)])
			p := pattern(n + 256)[rng.IntN(256):][:n]
			for _, w := range []driver.Target{b, &plain} {
				if n, err := w.WriteAt(p, off); n != len(p) || err != nil {
					t.Fatalf("WriteAt = %d, %v", n, err)
				}
			}
			off += int64(len(p))
		}
		must(t, b.flush())

		if got, err := os.ReadFile(b.Name()); err != nil || !bytes.Equal(plain.Bytes(), got) {
			t.Fatalf("seed %d: contents differ", seed)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
