package tensor

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Errors of this module wrap these; test for them with errors.Is. Package format has the same
// errors under the same names, and others.
var (
	// ErrClosed is returned by every access to a model after Close.
	ErrClosed = errors.New("closed")
	// ErrNotFound means that a model or schema has no such tensor, or metadata no such key.
	ErrNotFound = errors.New("not found")
	// ErrTruncated means that the file is truncated, or was cut short while it was mapped. It wraps
	// io.ErrUnexpectedEOF.
	ErrTruncated = fmt.Errorf("truncated%.0w", io.ErrUnexpectedEOF)
	// ErrCorrupt means that fields contradict each other or the format.
	ErrCorrupt = errors.New("corrupt")
	// ErrLimit means that a limit of the caller, the library or the system is exceeded.
	ErrLimit = errors.New("limit exceeded")
	// ErrUnsupported means a valid dtype, option or feature that is not supported, or a link that
	// is not followed.
	ErrUnsupported = errors.New("unsupported")
	// ErrChanged means that files of the model were replaced or changed while they were read. It
	// wraps ErrCorrupt.
	ErrChanged = fmt.Errorf("the files of the model changed while they were read%.0w", ErrCorrupt)
	// ErrDType is returned when the requested element type is not the tensor's.
	ErrDType = errors.New("wrong dtype")
	// ErrMisaligned is returned when memory is not aligned for the element type.
	ErrMisaligned = errors.New("misaligned")
	// ErrByteOrder is returned by As on a big-endian host, for elements of several bytes.
	ErrByteOrder = errors.New("byte order of the host differs")
	// ErrShape is returned for shapes with negative dims or an overflowing size,
	// and for ranges and buffers that do not fit a shape.
	ErrShape = errors.New("invalid shape")
	// ErrMagic means that the file is not of this format.
	ErrMagic = errors.New("wrong magic")
	// ErrVersion means an unsupported version of a known format.
	ErrVersion = errors.New("unsupported version")
	// ErrUnknownFormat means that no registered format has the content or the name.
	ErrUnknownFormat = errors.New("unknown format")
	// ErrChecksum means that the stored and the computed checksum differ.
	ErrChecksum = errors.New("checksum mismatch")
	// ErrSignature means that a signature is missing, by another key, or not of these bytes.
	ErrSignature = errors.New("signature verification failed")
	// ErrKey means that the key of an encrypted file is missing or wrong, or that a key is of the
	// wrong kind.
	ErrKey = errors.New("wrong or missing key")
	// ErrSchema means that a format cannot hold a schema, or that a call contradicts it.
	ErrSchema = errors.New("invalid schema")
	// ErrOption means an invalid option.
	ErrOption = errors.New("invalid option")
	// ErrAborted means that a writer failed or was aborted before.
	ErrAborted = errors.New("writer aborted")
	// ErrNotDurable means that a new file is in place, but that a crash of the system may undo
	// that.
	ErrNotDurable = errors.New("the new file is in place, but a crash of the system may undo that")
	// ErrQuantization is returned when a tensor with invalid quantization parameters is decoded,
	// and for numbers that cannot be quantized.
	ErrQuantization = errors.New("invalid quantization parameters")
)

// Error is an error in a file, with its position. The message leaves out unknown parts:
// "mag: m.mag: at 0x8: checksum: header checksum mismatch".
type Error struct {
	// Format is the registered name of the format, "mag".
	Format string
	// Path is the file name as opened, or the name a reader reports (see format.OpenReaderAt), or
	// "" for bytes.
	Path string
	// Field is a field of the layout, or `tensor "name"`.
	Field string
	// Offset is the byte offset in the file, or -1.
	Offset int64
	// Err wraps one of the sentinels.
	Err error
}

// Error returns the known parts on one line, separated by colons. What Err repeats of them it says
// once.
func (e *Error) Error() string {
	var at, cause string
	if e.Offset >= 0 {
		at = "at 0x" + strconv.FormatInt(e.Offset, 16)
	}
	if inner, ok := e.Err.(*Error); ok {
		cause = clip(inner.within(e).Error())
	} else if e.Err != nil {
		cause = clip(e.Err.Error())
	}
	parts := []string{e.Format, e.Path, at, clip(e.Field), cause}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}

// within returns e without the place that it has in common with outer.
func (e *Error) within(outer *Error) *Error {
	c := *e
	if c.Path != outer.Path {
		return &c
	}
	c.Path = ""
	if c.Format == outer.Format {
		c.Format = ""
	}
	if c.Offset == outer.Offset {
		c.Offset = -1
	}
	return &c
}

// clip shortens long text from a file, such as a name of 64 KiB: messages go to
// logs and terminals.
func clip(s string) string {
	const most = 500
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most/2], "") + "..." + strings.ToValidUTF8(s[len(s)-most/2:], "")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
