//go:build !linux

package floor

import "errors"

// Evict returns errors.ErrUnsupported.
func Evict([]string) error { return errors.ErrUnsupported }

// Evicts returns false.
func Evicts(string) bool { return false }
