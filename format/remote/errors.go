package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// The sentinels of errors, for errors.Is. After Close of the model, errors wrap
// tensor.ErrClosed.
var (
	// ErrChanged means that the object is not the one that was opened: nothing of the
	// other one is handed out.
	ErrChanged = fmt.Errorf("%w: the object was replaced or changed since it was opened", tensor.ErrCorrupt)
	// ErrUnversioned means that nothing in an answer would tell whether the object
	// changes: see Options.AllowUnversioned.
	ErrUnversioned = errors.New("the object has no version: neither a strong ETag nor a Last-Modified at least a second before the Date of the answer; Options.AllowUnversioned reads it all the same")
	// ErrNoRanges means that the other side does not answer requests for ranges.
	ErrNoRanges = errors.New("ranges of the object cannot be had")
	// ErrAnswer means that an answer contradicts itself or the request.
	ErrAnswer = errors.New("nonsensical answer")
	// ErrUnavailable means that all attempts failed, for reasons that may pass.
	ErrUnavailable = errors.New("unavailable")
)

// Why attempts fail.
var (
	errStalled = errors.New("the transfer stalled")
	errShort   = errors.New("the body ended early")
	errTimeout = fmt.Errorf("%w: the time for one read is over", ErrUnavailable)
)

// StatusError is the answer of an HTTP server that refuses. It is fs.ErrNotExist for what is
// not there, and fs.ErrPermission for what may not be read.
type StatusError struct{ Code int }

// Error returns the status as "404 Not Found".
func (e *StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the server answers %d %s", e.Code, http.StatusText(e.Code)))
}

// Unwrap returns what the code means for a file, nil where it means nothing.
func (e *StatusError) Unwrap() error {
	switch e.Code {
	case http.StatusNotFound, http.StatusGone:
		return fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return fs.ErrPermission
	}
	return nil
}

// nonsense is ErrAnswer with what is wrong.
func nonsense(text string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrAnswer, fmt.Sprintf(text, args...))
}
