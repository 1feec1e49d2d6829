//go:build !linux

package signing

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
