//go:build !purego

package vector

// Prefetch has the processor fetch the cache lines of p while it does other work. It is a
// hint, for a kilobyte or two, and never a fault.
//
//go:noescape
func Prefetch(p []byte)
