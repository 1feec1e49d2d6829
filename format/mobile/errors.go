package mobile

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/weightmap/weightmap/format"
)

// Results of ErrorCode. Programs compare these; the text of an error, which names the
// format, the file, the offset and the field, is for people.
const (
	CodeUnknownFormat = "unknown-format" // the file has no known format
	CodeMagic         = "magic"          // the file does not have the format named in Options
	CodeVersion       = "version"        // the version of the format is not supported
	CodeTruncated     = "truncated"      // the file ends too early, or was truncated while in use
	CodeCorrupt       = "corrupt"        // the file contradicts itself or its format
	CodeChecksum      = "checksum"       // a stored and a computed checksum differ
	CodeSignature     = "signature"      // the file is unsigned, signed by another key, or was changed after signing
	CodeKey           = "key"            // the key is wrong, or the file is encrypted and there is none
	CodeLimit         = "limit"          // a limit of Options or of the device was exceeded
	CodeUnsupported   = "unsupported"    // the file is valid, but uses what the library does not support
	CodeQuantization  = "quantization"   // the quantization parameters are invalid
	CodeDType         = "dtype"          // the dtype of the tensor does not convert
	CodeShape         = "shape"          // a buffer is too small
	CodeNotFound      = "not-found"      // the model has no tensor of that name
	CodeOption        = "option"         // Options are invalid
	CodeIndex         = "index"          // an index or offset is out of range
	CodeClosed        = "closed"         // the model was closed
	CodeCanceled      = "canceled"       // Canceler or Progress ended the call
	CodeFile          = "file"           // the system reports an error: no such file, no permission
	CodeOther         = "other"          // any other error
)

// codes has the specific errors first: an error may wrap several.
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

// ErrorCode returns the Code of an error that this package returned; in Java it takes
// the exception. It is empty for null.
func ErrorCode(err error) string {
	if err == nil {
		return ""
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	if errors.As(err, new(*fs.PathError)) || errors.As(err, new(syscall.Errno)) {
		return CodeFile
	}
	return CodeOther
}
