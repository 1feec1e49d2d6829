package memory

import (
	"math"
	"runtime"
)

// most bounds a buffer, below the sizes that make panics at: 4 GiB of
// address space where int has 32 bits and on wasm, where it has 64, and 1 TiB on
// the smallest of the other systems.
var most = func() int64 {
	if math.MaxInt == math.MaxInt32 || runtime.GOARCH == "wasm" {
		return math.MaxInt32 - 4096
	}
	return 1<<40 - 4096
}()

// Addressable reports whether a buffer of n bytes can be made on this platform, if there
// is memory for it.
func Addressable(n int64) bool { return n <= most }
