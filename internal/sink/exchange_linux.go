//go:build linux && !android

package sink

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// exchange needs a call that package syscall does not have. By x/sys it takes no
// unsafe of our own.
func exchange(a, b string) error {
	for {
		switch err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err {
		case nil:
			return nil
		case unix.EINTR:
		case unix.ENOSYS, unix.EINVAL, unix.ENOTSUP, unix.EPERM: // the last by filters of system calls
			return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		default:
			return fmt.Errorf("exchange %s and %s: %w", a, b, err)
		}
	}
}
