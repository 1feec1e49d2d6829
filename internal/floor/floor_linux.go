package floor

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Map opens, maps, unmaps and closes a file with bare system calls.
func Map(path string) error {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	mem, err := syscall.Mmap(fd, 0, int(st.Size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	return syscall.Munmap(mem)
}

func drop(f *os.File) error {
	fd := int(f.Fd())
	for range 20 { // the system skips pages that it is busy with
		if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
			return err
		}
		_, err := unix.Preadv2(fd, [][]byte{make([]byte, 1)}, 0, unix.RWF_NOWAIT)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("%s stays in memory: %w", f.Name(), errors.ErrUnsupported)
}
