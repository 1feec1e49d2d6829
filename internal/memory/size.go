package memory

import (
	"math"
	"runtime"
)

// most is the maximum size of a buffer, below the sizes for which make panics. The
// address space is 4 GiB if int has 32 bits and on wasm, and at least 1 TiB on all
// other systems.
var most = func() int64 {
	if math.MaxInt == math.MaxInt32 || runtime.GOARCH == "wasm" {
		return math.MaxInt32 - 4096
	}
	return 1<<40 - 4096
}()

// Addressable reports whether this platform can address a buffer of n bytes.
func Addressable(n int64) bool { return n <= most }
