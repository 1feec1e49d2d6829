package format

import "github.com/weightmap/weightmap/tensor"

// The errors that a *tensor.Error wraps; compare with errors.Is. They are those of package tensor.
var (
	ErrMagic         = tensor.ErrMagic         // the file is not of this format
	ErrVersion       = tensor.ErrVersion       // an unsupported version of a known format
	ErrUnknownFormat = tensor.ErrUnknownFormat // no registered format has the content or the name
	ErrChecksum      = tensor.ErrChecksum      // the stored and the computed checksum differ
	ErrUnsupported   = tensor.ErrUnsupported   // a legal dtype, option or feature that is not supported
	ErrSignature     = tensor.ErrSignature     // the signature is missing, invalid, or by another key
	ErrKey           = tensor.ErrKey           // the key is missing, wrong, or of the wrong kind
	ErrSchema        = tensor.ErrSchema        // the format cannot hold the schema, or a call contradicts it
	ErrAborted       = tensor.ErrAborted       // the writer failed or was aborted before
	ErrNotDurable    = tensor.ErrNotDurable    // the new file is in place, but its directory could not be synced
	ErrOption        = tensor.ErrOption        // an invalid option

	ErrClosed       = tensor.ErrClosed       // the model was closed
	ErrNotFound     = tensor.ErrNotFound     // no tensor or metadata key has that name
	ErrTruncated    = tensor.ErrTruncated    // the file is shorter than its fields say, or was cut short
	ErrCorrupt      = tensor.ErrCorrupt      // fields contradict each other or the format
	ErrChanged      = tensor.ErrChanged      // the files changed while they were opened or read
	ErrLimit        = tensor.ErrLimit        // a limit of Options, the library or the system is exceeded
	ErrDType        = tensor.ErrDType        // the tensor has another element type
	ErrMisaligned   = tensor.ErrMisaligned   // the data is not aligned for the element type
	ErrByteOrder    = tensor.ErrByteOrder    // a big-endian host cannot view elements of several bytes
	ErrShape        = tensor.ErrShape        // an invalid shape, range or buffer length
	ErrQuantization = tensor.ErrQuantization // invalid quantization parameters
)
