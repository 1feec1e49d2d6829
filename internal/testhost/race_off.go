//go:build !race

package testhost

// Race reports whether the race detector is enabled: it uses memory and address space, and
// sync.Pool drops objects.
const Race = false
