package mapped

import (
	"os"
	"syscall"
)

// descriptors is the directory whose entries name the open descriptors.
const descriptors = "/proc/self/fd/"

// willNeed asks for pages lo to hi of mem to be read ahead. mem is a whole
// mapping, so its start is a page boundary, which the system call insists on.
func willNeed(mem []byte, lo, hi int) error {
	lo -= lo % os.Getpagesize()
	return syscall.Madvise(mem[lo:hi], syscall.MADV_WILLNEED)
}
