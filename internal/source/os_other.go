//go:build !linux && !darwin

package source

// descriptors is empty: no name leads to an open descriptor, or nothing maps it.
const descriptors = ""

func willNeed([]byte, int, int) error { return nil }

func protect([]byte) bool { return false }

func noMapping(error) bool { return false }

func surelyRegular(string, bool) bool { return false }

func resident([]byte, int, int) int64 { return -1 }
