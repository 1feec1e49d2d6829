package save

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// move renames a file. On Windows this fails while another program has the old file open or mapped
// (ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_USER_MAPPED_FILE), often only for a moment, so
// move tries again.
func move(from, to string) error {
	err := os.Rename(from, to)
	for wait := time.Millisecond; busy(err) && wait < time.Second/2; wait *= 2 {
		time.Sleep(wait)
		err = os.Rename(from, to)
	}
	if busy(err) {
		return fmt.Errorf("%w (Windows replaces no file that is open or mapped: close its models, open them as copies, or write to another name)", err)
	}
	return err
}

func busy(err error) bool {
	return errors.Is(err, syscall.Errno(5)) || errors.Is(err, syscall.Errno(32)) || errors.Is(err, syscall.Errno(1224))
}
