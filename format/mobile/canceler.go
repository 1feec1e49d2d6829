package mobile

import (
	"context"
	"sync"
)

// Canceler ends Verify, VerifySigned and opening (Options.Canceler) from any thread,
// the main thread included. One Canceler may end several of them.
type Canceler struct {
	mu   sync.Mutex
	ctx  context.Context
	done context.CancelFunc
}

// NewCanceler returns a Canceler that has not been used.
func NewCanceler() *Canceler { return &Canceler{} }

// Cancel returns at once. Calls with this Canceler that are running, or start later, fail
// with CodeCanceled. A second Cancel does nothing.
func (c *Canceler) Cancel() {
	c.context()
	c.done()
}

// context works on nil, which never cancels.
func (c *Canceler) context() context.Context {
	if c == nil {
		return context.Background()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil {
		c.ctx, c.done = context.WithCancel(context.Background())
	}
	return c.ctx
}
