//go:build !unix

package mobile

import (
	"fmt"
	"os"
	"runtime"

	"github.com/weightmap/weightmap/format"
)

// duplicate fails: systems other than Android, iOS and their kin know files by
// other things than small numbers.
func duplicate(int32) (*os.File, error) {
	return nil, fmt.Errorf("%w: file descriptors on %s", format.ErrUnsupported, runtime.GOOS)
}
