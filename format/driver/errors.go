package driver

import (
	"errors"

	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// The errors that a tensor.Error wraps, besides those of package tensor.
var (
	ErrMagic         = errors.New("wrong magic")                   // the file is not of this format
	ErrVersion       = errors.New("unsupported version")           // unknown version of the format
	ErrUnknownFormat = errors.New("unknown format")                // no registered format matches
	ErrChecksum      = errors.New("checksum mismatch")             // stored and computed checksums differ
	ErrUnsupported   = tensor.ErrUnsupported                       // a valid dtype, option or feature that is not supported
	ErrSignature     = errors.New("signature verification failed") // missing, by another key, or tampered with
	ErrKey           = errors.New("wrong or missing key")          // of an encrypted file
	ErrAborted       = errors.New("writer aborted")                // the writer has failed or was aborted
	ErrNotDurable    = disk.ErrNotDurable                          // the new file is in place, but a crash of the system may undo that
	ErrOption        = errors.New("invalid option")                // an option has an invalid value
)

// Errorf returns a tensor.Error for a field at an offset of the file (-1 for none). It
// wraps sentinel, as in "checksum mismatch: ..."; a %w in the text wraps a cause too. The
// engine adds the path.
func Errorf(format, field string, offset int64, sentinel error, text string, args ...any) error {
	return wire.Errorf(format, field, offset, sentinel, text, args...)
}
