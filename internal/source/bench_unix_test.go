//go:build linux || darwin

package source

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/exp/mmap"
)

// BenchmarkFloor is what opening and closing costs at least: the bare system
// calls, package os's way to make them, and x/exp/mmap on top of that.
func BenchmarkFloor(b *testing.B) {
	path := temp(b, ramp(2<<20))
	b.Run("syscalls", func(b *testing.B) {
		for b.Loop() {
			if err := bare(path); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("x-exp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ra, err := mmap.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			ra.Close()
		}
	})
	b.Run("stat", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.Stat(path); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("reflect", func(b *testing.B) {
		ra, err := mmap.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		defer ra.Close()
		for b.Loop() {
			if _, ok := mapping(ra); !ok {
				b.Fatal("no mapping")
			}
		}
	})
}

// bare maps and unmaps the file at path.
func bare(path string) error {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	mem, err := syscall.Mmap(fd, 0, int(st.Size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	if err := syscall.Close(fd); err != nil {
		return err
	}
	return syscall.Munmap(mem)
}
