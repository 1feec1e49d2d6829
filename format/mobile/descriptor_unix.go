//go:build unix

package mobile

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
)

// OpenDescriptor, on Unix, maps length bytes from offset of an open file descriptor, such
// as an uncompressed Android asset; a negative length means to the end of the
// file. The descriptor remains the caller's: its position does not change, and it may
// be closed as soon as this returns. FileOffset of the tensors counts from
// offset. options may be null.
func OpenDescriptor(fd int32, offset, length int64, options *Options) (*Model, error) {
	// A duplicate, since the finalizer of an os.File would close the caller's descriptor.
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, wire.Error("", "descriptor", -1, os.NewSyscallError("dup", err))
	}
	f := os.NewFile(uintptr(own), "")
	defer f.Close()
	return options.open(func(o *format.Options) (*format.Model, error) { return format.OpenFile(f, offset, length, o) })
}
