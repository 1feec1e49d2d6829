package remote

import (
	"context"
	"io"
	"time"
)

// Object is what a Reader reads: bytes that somebody else keeps, ranges of which can be
// asked for. The objects of this package are behind HTTP; examples/bucket has one that
// is in a bucket of a cloud. Its method is called concurrently.
type Object interface {
	// Get makes one attempt to get n bytes from off, with n > 0.
	//
	// The first call, with the zero Version, is for off 0 and learns the size: of an
	// object that is smaller than n the body is all of it. Later ones ask for bytes
	// that known says exist; where a store can make a request depend on a version,
	// they do, and in any case they return the version that the body is of. The Reader
	// compares it with known.
	//
	// The body ends with an error once ctx is done, and so does Get. An error that another
	// attempt may cure is a *Temporary; any other, ErrChanged for one, ends the read.
	Get(ctx context.Context, off, n int64, known Version) (Answer, error)
}

// Directory is an Object of a model whose other files lie next to it.
type Directory interface {
	Object
	// Sibling returns the object of that name, which has no slashes. It need not be there.
	Sibling(name string) (Object, error)
}

// Answer is a range of an object.
type Answer struct {
	// Version is that of the object of which Body is a part.
	Version Version
	// Body has exactly the bytes that were asked for. Errors of reading it count as
	// temporary. The Reader closes it; an error of Close makes what was read invalid.
	Body io.ReadCloser
}

// Version says which bytes an object has at a time.
type Version struct {
	Size int64
	// Tag is what else tells versions apart, such as an entity tag or the time of the
	// last change.
	Tag string
	// Strong says that bytes are the same where Size and Tag are.
	Strong bool
}

// known reports whether an answer has said which version there is.
func (v *Version) known() bool { return *v != Version{} }

// same reports whether two answers are of the same version.
func (v *Version) same(w *Version) bool { return v.Size == w.Size && v.Tag == w.Tag }

// Temporary is an error that another attempt may cure.
type Temporary struct {
	// After is how long the other side wants to be left alone; 0 when it says nothing.
	After time.Duration
	Err   error
}

// Error returns that of Err.
func (e *Temporary) Error() string {
	if e.Err == nil {
		return "for now"
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Temporary) Unwrap() error { return e.Err }
