//go:build unix

package mobile

import (
	"os"
	"syscall"
)

// duplicate returns a file over a duplicate of fd, which it owns: the finalizer of an
// os.File over fd would close the caller's descriptor.
func duplicate(fd int32) (*os.File, error) {
	// A child process started between the two calls would inherit the descriptor.
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
