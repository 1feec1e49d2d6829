package mobile

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/weightmap/weightmap/format"
)

// What ErrorCode says of an error. The text of an error names the format, the
// file, the offset and the field where these are known, and is for people; the
// code is for programs.
const (
	CodeUnknownFormat = "unknown-format" // of no format known here
	CodeMagic         = "magic"          // not of the format that was asked for
	CodeVersion       = "version"        // of a version not known here
	CodeTruncated     = "truncated"      // ends too early, or was cut while in use
	CodeCorrupt       = "corrupt"        // contradicts itself or the format
	CodeChecksum      = "checksum"       // stored and computed sums differ
	CodeSignature     = "signature"      // unsigned, signed by another, or tampered with
	CodeKey           = "key"            // wrong or missing key
	CodeLimit         = "limit"          // beyond a limit of Options or of the device
	CodeUnsupported   = "unsupported"    // legal, but not supported here
	CodeQuantization  = "quantization"   // quantization parameters make no sense
	CodeDType         = "dtype"          // not to be had from a tensor of this dtype
	CodeShape         = "shape"          // a buffer is too small
	CodeNotFound      = "not-found"      // no tensor of that name
	CodeOption        = "option"         // Options that make no sense
	CodeIndex         = "index"          // an index or offset that does not exist
	CodeClosed        = "closed"         // the model was closed
	CodeCanceled      = "canceled"       // by Progress
	CodeFile          = "file"           // the system's: no such file, no permission
	CodeOther         = "other"
)

// codes goes from what is specific to what may come with it.
var codes = []struct {
	err  error
	code string
}{
	{errCanceled, CodeCanceled},
	{context.Canceled, CodeCanceled},
	{errIndex, CodeIndex},
	{format.ErrClosed, CodeClosed},
	{format.ErrNotFound, CodeNotFound},
	{format.ErrOption, CodeOption},
	{format.ErrKey, CodeKey},
	{format.ErrSignature, CodeSignature},
	{format.ErrUnknownFormat, CodeUnknownFormat},
	{format.ErrMagic, CodeMagic},
	{format.ErrVersion, CodeVersion},
	{format.ErrChecksum, CodeChecksum},
	{format.ErrTruncated, CodeTruncated},
	{format.ErrLimit, CodeLimit},
	{format.ErrQuantization, CodeQuantization},
	{format.ErrDType, CodeDType},
	{format.ErrUnsupported, CodeUnsupported},
	{format.ErrCorrupt, CodeCorrupt},
	{format.ErrShape, CodeShape},
}

// ErrorCode classifies an error that this package returned, in Java the
// exception as it was caught: one of the Code constants, empty for null.
func ErrorCode(err error) string {
	if err == nil {
		return ""
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	path := errors.As(err, new(*fs.PathError))
	errno := errors.As(err, new(syscall.Errno))
	if path || errno {
		return CodeFile
	}
	return CodeOther
}
