//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package disk

import "time"

// lockElsewhere does nothing: this system does not lock directories.
func lockElsewhere(string, time.Time) (unlock func()) { return func() {} }
