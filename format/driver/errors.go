package driver

import (
	"errors"

	"github.com/weightmap/weightmap/internal/wire"
)

// The errors that a tensor.Error wraps, besides those of package tensor.
var (
	ErrMagic         = errors.New("wrong magic")                   // the file is not of this format
	ErrVersion       = errors.New("unsupported version")           // of a known format
	ErrUnknownFormat = errors.New("unknown format")                // no registered format, or none of that name
	ErrChecksum      = errors.New("checksum mismatch")             // stored and computed sums differ
	ErrUnsupported   = errors.New("unsupported")                   // legal, but not here: a dtype, an option, a feature
	ErrSignature     = errors.New("signature verification failed") // missing, by another key, or tampered with
	ErrKey           = errors.New("wrong or missing key")          // of an encrypted file
	ErrPlan          = errors.New("invalid plan")                  // a writer was asked for what it cannot write
	ErrAborted       = errors.New("writer aborted")                // the writer failed or was aborted before
	ErrNotDurable    = errors.New("the new file is in place, but a crash of the system may undo that")
	ErrOption        = errors.New("invalid option") // an option that makes no sense
)

// Errorf makes the tensor.Error for a field at an offset of the file (-1: none), which
// wraps a sentinel: "checksum mismatch: ...". %w in the text keeps a cause. The
// engine adds the path.
func Errorf(format, field string, offset int64, sentinel error, text string, args ...any) error {
	return wire.Errorf(format, field, offset, sentinel, text, args...)
}
