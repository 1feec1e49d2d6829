//go:build !linux

package source

import "errors"

func readAhead(int, int64, int64) {}

func isCached(int, [][]byte, int64) bool { return true }

func preadv(descriptor, [][]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

func willNeed([]byte, int, int) error { return nil }

func populate([]byte, int, int) {}

func forget([]byte) error { return nil }

func resident([]byte, int, int) int64 { return -1 }
