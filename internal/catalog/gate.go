package catalog

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/tensor"
)

// gate holds all data back until a check that covers them has passed. Every
// accessor of a view calls Enter or Lend of its owner before it hands out a
// byte, so these two are where the gate stands.
type gate struct {
	check func() (verdict, err error)
	open  atomic.Bool

	mu     sync.Mutex // held while the check runs: whoever comes meanwhile waits for its verdict
	failed error      // the verdict, once it is against the file
}

// HoldBack makes check run before the first byte of any tensor is handed out,
// once. Its verdict, nil for a sound file, is remembered; err says that it could
// not run, and it runs again for the next caller. HoldBack belongs before the
// first view.
func (c *Catalog) HoldBack(check func() (verdict, err error)) { c.gate = &gate{check: check} }

// Decide remembers the verdict of a check that ran for another reason. The first
// verdict stands.
func (c *Catalog) Decide(verdict error) {
	if g := c.gate; g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.decide(verdict)
	}
}

// pass lets through once the check has passed. It costs one load then.
func (c *Catalog) pass() error {
	if g := c.gate; g != nil && !g.open.Load() {
		return c.firstPass(g)
	}
	return nil
}

// firstPass runs the check unless its verdict is known. It holds the memory
// meanwhile, so that a closed model answers ErrClosed and Close waits.
func (c *Catalog) firstPass(g *gate) error {
	if err := c.region.Enter(); err != nil {
		return err
	}
	defer c.region.Leave()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed == nil && !g.open.Load() {
		verdict, err := g.check()
		if err != nil {
			return c.region.Locate(err)
		}
		g.decide(c.region.Locate(verdict))
	}
	return private(g.failed)
}

// private copies an error that callers complete by what they know: each gets its
// own.
func private(err error) error {
	var e *tensor.Error
	if errors.As(err, &e) {
		own := *e
		return &own
	}
	return err
}

// decide remembers the first verdict.
func (g *gate) decide(verdict error) {
	switch {
	case g.failed != nil || g.open.Load():
	case verdict == nil:
		g.open.Store(true)
	default:
		g.failed = private(verdict)
	}
}
