//go:build linux || darwin

package fault

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/internal/work"
)

// cutMapping maps a file, truncates it to keep pages, and returns the mapping.
func cutMapping(t *testing.T, pages, keep int) []byte {
	t.Helper()
	testhost.NeedCuts(t)
	size := os.Getpagesize()
	path := filepath.Join(t.TempDir(), "f")
	data := bytes.Repeat([]byte{0xA5}, pages*size)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, err := syscall.Mmap(int(f.Fd()), 0, len(data), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(mem) })
	if err := os.Truncate(path, int64(keep*size)); err != nil {
		t.Fatal(err)
	}
	last := len(mem) - size
	addr, _ := Guard(anywhere, func() error { sink = mem[last]; return nil })
	if addr == 0 {
		t.Fatal("touching a lost page is no fault")
	}
	return mem
}

func anywhere(uintptr) bool { return true }

var sink byte

func TestCopyStopsAtTheFirstLostPage(t *testing.T) {
	size := os.Getpagesize()
	mem := cutMapping(t, 8, 3)
	for _, start := range []int{0, 1, size - 1, size, 3*size - 1, 3 * size, 5*size + 7} {
		t.Run(fmt.Sprint(start), func(t *testing.T) {
			dst := make([]byte, len(mem))
			n, ok := Copy(dst, mem[start:])
			want := max(3*size-start, 0)
			if ok || n != want {
				t.Errorf("copied %d, %v; want %d, false", n, ok, want)
			}
			if !bytes.Equal(dst[:n], mem[start:start+n]) {
				t.Error("the bytes before the fault differ")
			}
		})
	}
	if n, ok := Copy(make([]byte, 3*size), mem); n != 3*size || !ok {
		t.Errorf("the part that is left: %d, %v", n, ok)
	}
}

// TestGuardCoversEach: a fault on a goroutine of work.Each reaches the guard around it.
func TestGuardCoversEach(t *testing.T) {
	size := os.Getpagesize()
	mem := cutMapping(t, 8, 3)
	for _, workers := range []int{1, 2, 8} {
		var first [8]byte
		addr, err := Guard(anywhere, func() error {
			return work.Each(context.Background(), 8, workers, func(i int) error { first[i] = mem[i*size]; return nil })
		})
		if off := int(addr - memory.Address(mem)); err != nil || off/size != 3 {
			t.Errorf("%d workers: %v, a fault at %d, want page 3 (before: % x)", workers, err, off, first)
		}
	}
}
