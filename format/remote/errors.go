package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// The errors of this package, for errors.Is. After Close of the model, errors wrap
// tensor.ErrClosed.
var (
	// ErrChanged means that the object changed since it was opened. No byte of the new version is
	// returned. It is format.ErrChanged.
	ErrChanged = tensor.ErrChanged
	// ErrUnversioned means that responses do not identify the version of the object: see
	// Options.AllowUnversioned.
	ErrUnversioned = errors.New("the object has no version: neither a strong ETag nor a Last-Modified at least a second " +
		"before the Date of the answer; Options.AllowUnversioned reads it all the same")
	// ErrNoRanges means that the server does not support range requests.
	ErrNoRanges = errors.New("ranges of the object cannot be had")
	// ErrAnswer means that an answer contradicts the request or itself.
	ErrAnswer = errors.New("nonsensical answer")
	// ErrUnavailable means that every attempt failed with a temporary error.
	ErrUnavailable = errors.New("unavailable")
)

// Why attempts fail.
var (
	errStalled = &Temporary{Err: errors.New("the transfer stalled")}
	errTimeout = fmt.Errorf("%w: the time for one read is over", ErrUnavailable)
)

// StatusError is the error for an HTTP status that is not a success. It wraps fs.ErrNotExist or
// fs.ErrPermission for the corresponding codes.
type StatusError struct {
	Code int // such as http.StatusNotFound
}

// Error returns the status as "404 Not Found".
func (e *StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the server answers %d %s", e.Code, http.StatusText(e.Code)))
}

// Unwrap returns fs.ErrNotExist, fs.ErrPermission or nil.
func (e *StatusError) Unwrap() error {
	switch e.Code {
	case http.StatusNotFound, http.StatusGone:
		return fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return fs.ErrPermission
	}
	return nil
}

// nonsense returns an ErrAnswer with a reason.
func nonsense(text string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrAnswer, fmt.Sprintf(text, args...))
}
