//go:build !race

package testhost

// Race tells whether the race detector is at work: it takes memory and address space of
// its own, and pools lose what is in them.
const Race = false
