//go:build unix

package mobile

import (
	"os"
	"syscall"
)

// duplicate returns a file over a descriptor of its own. An os.File over the
// caller's would close that one some time, be it by its finalizer.
func duplicate(fd int32) (*os.File, error) {
	// Between the two calls no child process may be started: it would inherit
	// the descriptor.
	syscall.ForkLock.RLock()
	own, err := syscall.Dup(int(fd))
	if err == nil {
		syscall.CloseOnExec(own)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(own), ""), nil
}
