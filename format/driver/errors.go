package driver

import "github.com/weightmap/weightmap/internal/wire"

// Errorf returns a tensor.Error for a field at an offset of the file (-1 for none). It
// wraps sentinel, as in "checksum mismatch: ..."; a %w in the text wraps a cause too. The
// engine adds the path.
func Errorf(format, field string, offset int64, sentinel error, text string, args ...any) error {
	return wire.Errorf(format, field, offset, sentinel, text, args...)
}
