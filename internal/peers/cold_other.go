//go:build !linux

package main

import "errors"

// evict is not possible here.
func evict([]string) error { return errors.ErrUnsupported }

func evicts(string) bool { return false }
