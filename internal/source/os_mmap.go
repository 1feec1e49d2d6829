//go:build linux || darwin

package source

import (
	"errors"
	"math"
	"syscall"
)

// protect makes a whole mapping inaccessible and reports whether it did.
func protect(mem []byte) bool { return syscall.Mprotect(mem, syscall.PROT_NONE) == nil }

// noMapping reports whether err says that the file system cannot map files.
func noMapping(err error) bool { return errors.Is(err, syscall.ENODEV) }

// surelyRegular reports that path is a regular file whose size an int holds, and
// no link to one if that matters. It does without what os.Stat allocates; false
// only says to look again with that.
func surelyRegular(path string, noLink bool) bool {
	// Both calls are written out: through a variable, st would escape.
	var st syscall.Stat_t
	var err error
	if noLink {
		err = syscall.Lstat(path, &st)
	} else {
		err = syscall.Stat(path, &st)
	}
	return err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFREG && st.Size <= math.MaxInt
}
