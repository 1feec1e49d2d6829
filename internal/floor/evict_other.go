//go:build !linux

package floor

import "errors"

// Evict is not possible here.
func Evict([]string) error { return errors.ErrUnsupported }

// Evicts tells so.
func Evicts(string) bool { return false }
