package source

import (
	"os"
	"runtime"
	"syscall"

	"github.com/weightmap/weightmap/internal/memory"
)

// descriptors is the directory whose entries name the open descriptors.
const descriptors = "/proc/self/fd/"

// willNeed asks for pages lo to hi of mem to be read ahead. mem is a whole
// mapping, so its start is a page boundary, which the system call insists on.
func willNeed(mem []byte, lo, hi int) error {
	lo -= lo % os.Getpagesize()
	return syscall.Madvise(mem[lo:hi], syscall.MADV_WILLNEED)
}

// forget takes the pages of a mapping from the process. What is touched again is mapped again.
func forget(mem []byte) error { return syscall.Madvise(mem, syscall.MADV_DONTNEED) }

// resident counts the pages between lo and hi of a mapping that are in memory.
func resident(mem []byte, lo, hi int) int64 {
	page := os.Getpagesize()
	lo -= lo % page
	if hi <= lo {
		return 0
	}
	pages := make([]byte, (hi-lo+page-1)/page)
	_, _, errno := syscall.Syscall(syscall.SYS_MINCORE, memory.Address(mem[lo:]), uintptr(hi-lo), memory.Address(pages))
	runtime.KeepAlive(pages)
	if errno != 0 {
		return -1
	}
	n := int64(0)
	for _, p := range pages {
		n += int64(p & 1)
	}
	return min(n*int64(page), int64(hi-lo))
}

// idOf takes from a file's status what tells it from others, and from itself after a change.
func idOf(st *syscall.Stat_t) ID {
	return ID{uint64(st.Dev), st.Ino, st.Size, int64(st.Mtim.Sec), int64(st.Mtim.Nsec), true}
}

// changed is when the file was last changed, which nobody sets.
func changed(st *syscall.Stat_t) (sec, nsec int64) { return int64(st.Ctim.Sec), int64(st.Ctim.Nsec) }
