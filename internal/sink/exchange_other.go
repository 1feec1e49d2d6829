//go:build !linux || android

package sink

import "errors"

// exchange cannot be done here, or may be forbidden to apps, whose process ends.
func exchange(a, b string) error { return errors.ErrUnsupported }
