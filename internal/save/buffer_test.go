package save

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format/driver"
)

// newHandle creates a file.
func newHandle(t *testing.T) *handle {
	t.Helper()
	h, err := create(filepath.Join(t.TempDir(), "f"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.close() })
	return h
}

// TestBuffer: any mix of writes, reads and truncations gives the same file
// with and without the buffer.
func TestBuffer(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var plain Memory
		b := newHandle(t)
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestBufferFails: if a delayed write fails, the next call and all later ones return the error.
func TestBufferFails(t *testing.T) {
	tests := []struct {
		name string
		then func(b *handle) error
	}{
		{"Flush", (*handle).flush},
		{"Truncate", func(b *handle) error { return b.Truncate(1) }},
		{"ReadAt", func(b *handle) error { _, err := b.ReadAt(make([]byte, 1), 0); return err }},
		{"WriteAt large", func(b *handle) error { _, err := b.WriteAt(make([]byte, 2*piece), 1); return err }},
		{"WriteAt elsewhere", func(b *handle) error {
			_, err := b.WriteAt([]byte{1}, 8192) // flushes the first byte
			return errors.Join(err, b.flush())
		}},
		{"WriteAt on and on", func(b *handle) error {
			for off := int64(1); ; off += piece {
				if _, err := b.WriteAt(make([]byte, piece), off); err != nil {
					return err
				}
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			failing(t, CallWrite)
			b := newHandle(t)
			if _, err := b.WriteAt([]byte{1}, 0); err != nil {
				t.Fatal(err)
			}
			if err := tt.then(b); !errors.Is(err, errInjected) {
				t.Errorf("err = %v, want %v", err, errInjected)
			}
			if err := b.flush(); !errors.Is(err, errInjected) {
				t.Errorf("Flush later: %v, want %v", err, errInjected)
			}
		})
	}
}
