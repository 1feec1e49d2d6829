package remote

import (
	"context"
	"io"
	"time"
)

// Object is a sequence of bytes that a Reader fetches in ranges. This package has objects behind
// HTTP, and examples/bucket has one in a cloud bucket. Get is called concurrently.
type Object interface {
	// Get makes one attempt to get n bytes from off, with n > 0.
	//
	// The first call has the zero Version and off 0, and determines the size: the body is
	// the whole object if that is smaller than n. Later calls request bytes that exist in
	// version known. If the store supports conditional requests, Get makes them conditional
	// on that version. It always returns the version of the body, which the Reader
	// compares with known.
	//
	// When ctx is done, Get and reads of the body return an error. An error that may not
	// occur in another attempt is a *Temporary; any other, such as ErrChanged, ends the read.
	Get(ctx context.Context, off, n int64, known Version) (Answer, error)
}

// Directory is an Object with other files of the model next to it.
type Directory interface {
	Object
	// Sibling returns the object of that name, which has no slashes. The object need not exist.
	Sibling(name string) (Object, error)
}

// Answer is the result of Object.Get: a range of an object.
type Answer struct {
	// Version is the version of the object that Body is a part of.
	Version Version
	// Body has the requested bytes. The Reader closes it. An error of Read is treated as temporary;
	// an error of Close invalidates what was read.
	Body io.ReadCloser
}

// Version identifies the content of an object.
type Version struct {
	Size int64 // of the object in bytes
	// Tag tells versions of the same size apart: an entity tag, or the time of the last change.
	Tag string
	// Strong reports whether equal Size and Tag mean equal bytes.
	Strong bool
}

// known reports whether the version has been determined.
func (v *Version) known() bool { return *v != Version{} }

// Temporary is an error that may not occur in another attempt.
type Temporary struct {
	// After is the wait that the server requests; 0 if it does not say.
	After time.Duration
	// Err is the error of the attempt.
	Err error
}

// Error returns the message of Err.
func (e *Temporary) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Temporary) Unwrap() error { return e.Err }
