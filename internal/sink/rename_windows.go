package sink

import (
	"errors"
	"fmt"
	"syscall"
)

// explainRename says what keeps a file from being replaced (ERROR_ACCESS_DENIED,
// ERROR_SHARING_VIOLATION, ERROR_USER_MAPPED_FILE).
func explainRename(err error) error {
	for _, code := range []syscall.Errno{5, 32, 1224} {
		if errors.Is(err, code) {
			return fmt.Errorf("%w (Windows replaces no file that is open or mapped: close its models, open them as copies, or write to another name)", err)
		}
	}
	return err
}
