//go:build !unix

package mobile

import (
	"fmt"
	"os"
	"runtime"

	"github.com/weightmap/weightmap/format"
)

// duplicate fails: only Unix has file descriptors.
func duplicate(int32) (*os.File, error) {
	return nil, fmt.Errorf("%w: file descriptors on %s", format.ErrUnsupported, runtime.GOOS)
}
