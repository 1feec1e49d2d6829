//go:build !linux

package source

const canForget = false

func readAhead(int, int64, int64) {}

func isCached(int, [][]byte, int64) bool { return true }

func willNeed([]byte, int, int) error { return nil }

func populate([]byte, int, int) {}

func forget([]byte) error { return nil }

func resident([]byte, int, int) int64 { return -1 }
