//go:build !amd64 || purego

package vector

// Prefetch is a hint that only some processors get.
func Prefetch([]byte) {}
