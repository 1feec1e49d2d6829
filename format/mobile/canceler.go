package mobile

import "context"

// Canceler ends Verify, VerifySigned and opening (Options.Canceler) from any thread,
// the main thread included. One Canceler may end several of them. NewCanceler makes one that works;
// an empty Canceler does nothing.
type Canceler struct {
	ctx  context.Context
	done context.CancelFunc
}

// NewCanceler returns a Canceler that has not been used.
func NewCanceler() *Canceler {
	ctx, done := context.WithCancel(context.Background())
	return &Canceler{ctx, done}
}

// Cancel returns at once. Calls with this Canceler that are running, or start later, fail
// with CodeCanceled. A second Cancel does nothing.
func (c *Canceler) Cancel() {
	if c.done != nil {
		c.done()
	}
}

// context works on nil and on an empty Canceler, which never cancel.
func (c *Canceler) context() context.Context {
	if c == nil || c.ctx == nil {
		return context.Background()
	}
	return c.ctx
}
