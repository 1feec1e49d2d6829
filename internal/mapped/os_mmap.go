//go:build linux || darwin

package mapped

import (
	"errors"
	"syscall"
)

// protect makes a whole mapping inaccessible and reports whether it did.
func protect(mem []byte) bool { return syscall.Mprotect(mem, syscall.PROT_NONE) == nil }

// noMapping reports whether err says that the file system cannot map files.
func noMapping(err error) bool { return errors.Is(err, syscall.ENODEV) }
