package source

import (
	"encoding/binary"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/weightmap/weightmap/internal/memory"
	"golang.org/x/sys/unix"
)

// descriptors is the directory whose entries name the open descriptors.
const descriptors = "/proc/self/fd/"

// willNeed asks the system to read bytes lo to hi of mem ahead. mem is a whole
// mapping, so it begins at a page boundary, as the system call requires.
func willNeed(mem []byte, lo, hi int) error {
	lo -= lo % os.Getpagesize()
	return syscall.Madvise(mem[lo:hi], syscall.MADV_WILLNEED)
}

// populate maps pages of a mapping, and reads those that are not in memory. Kernels before 5.14
// cannot.
func populate(mem []byte, lo, hi int) {
	lo -= lo % os.Getpagesize()
	_ = unix.Madvise(mem[lo:hi], unix.MADV_POPULATE_READ)
}

// readAhead asks the system to read a range of a file into its cache. It is a hint.
func readAhead(fd int, off, n int64) { _ = unix.Fadvise(fd, off, n, unix.FADV_WILLNEED) }

// isCached reads bytes at an offset of a file. It returns false only if that would have to wait for
// a disk.
func isCached(fd int, p [][]byte, off int64) bool {
	if runtime.GOOS == "android" {
		return true // Android before version 13 kills programs that make this call
	}
	_, err := unix.Preadv2(fd, p, off, unix.RWF_NOWAIT)
	return err != unix.EAGAIN
}

// preadv reads consecutive bytes of a file into buffers.
func preadv(fd descriptor, to [][]byte, off int64) (int, error) {
	return unix.Preadv(int(fd), to, off)
}

// forget removes the pages of a mapping from the process. The next access maps them again.
func forget(mem []byte) error { return syscall.Madvise(mem, syscall.MADV_DONTNEED) }

// pagemap stays open, as opening it for each tensor takes 8 times as long as reading it.
var pagemap struct {
	sync.Mutex
	file *os.File // nil until it is used
}

// openPagemap opens the system's list of the pages of the process unless it is open.
func openPagemap() (*os.File, error) {
	pagemap.Lock()
	defer pagemap.Unlock()
	if pagemap.file != nil {
		return pagemap.file, nil
	}
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil, err
	}
	pagemap.file = f
	return f, nil
}

// resident counts the bytes between lo and hi of a mapping whose pages are in memory and
// mapped in this process, or swapped.
func resident(mem []byte, lo, hi int) (n int64) {
	page := os.Getpagesize()
	size := int64(hi - lo)
	lo -= lo % page
	f, err := openPagemap()
	if err != nil {
		return -1
	}
	const entry = 8
	pages := (hi - lo + page - 1) / page
	at := int64(memory.Address(mem[lo:])/uintptr(page)) * entry
	for buf := make([]byte, min(pages, 8192)*entry); pages > 0; {
		buf = buf[:min(pages*entry, len(buf))]
		if _, err := f.ReadAt(buf, at); err != nil {
			return -1
		}
		for i := 0; i < len(buf); i += entry {
			if binary.NativeEndian.Uint64(buf[i:])>>62 != 0 {
				n++
			}
		}
		at += int64(len(buf))
		pages -= len(buf) / entry
	}
	return min(n*int64(page), size)
}

// modified returns the mtime.
func modified(st *syscall.Stat_t) time.Time { return time.Unix(st.Mtim.Unix()) }

// changed returns the ctime, which programs cannot set.
func changed(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctim.Unix()) }
