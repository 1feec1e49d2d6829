package source

import (
	"errors"
	"syscall"
)

// noRoom reports whether err says that the process cannot have another mapping
// (ERROR_NOT_ENOUGH_MEMORY, ERROR_COMMITMENT_LIMIT).
func noRoom(err error) bool {
	return errors.Is(err, syscall.Errno(8)) || errors.Is(err, syscall.Errno(1455))
}
