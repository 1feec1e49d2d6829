package live

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/stripes"
)

// generation is a model that is or was current. It is closed once, when it is retired and
// nobody holds it any more: see package stripes for why that is noticed, and not too early.
type generation struct {
	retired atomic.Bool // another one is current, and who lets go last closes it
	ended   atomic.Bool // it is being closed

	model  *format.Model
	value  any // of Options.Prepare
	number uint64
	id     identity
	shared bool // others can change what it shows, by writing to its files
	since  time.Time
	took   time.Duration // to load
	format string
	stats  format.Stats // when it was loaded

	_    [128]byte // so that nobody who counts disturbs who reads retired
	uses stripes.Counter
}

// How long retire waits between two looks: some 30 ms in all.
const (
	shortest = 60 * time.Microsecond
	longest  = 256 * shortest
)

// retire has a generation closed that is not current any more: now if nobody holds it, else
// by who lets go last. Unmapping may take milliseconds, for which a request or the next one on its processor would
// wait, so leases that are short are waited for.
func (h *Handle) retire(g *generation) error {
	h.mu.Lock()
	h.old[g] = struct{}{}
	h.mu.Unlock()
	for wait := shortest; g.uses.Sum() != 0 && wait <= longest; wait *= 2 {
		time.Sleep(wait)
	}
	g.retired.Store(true)
	if g.unheld() {
		return h.end(g)
	}
	return nil
}

// left is called after each change of the count of a retired generation.
func (h *Handle) left(g *generation) {
	if g.unheld() {
		go h.end(g)
	}
}

// unheld reports whether nobody holds a retired generation any more, to one caller.
func (g *generation) unheld() bool {
	n := g.uses.Sum()
	if n < 0 {
		panic("live: a Lease was released more than once, by way of a copy")
	}
	return n == 0 && g.ended.CompareAndSwap(false, true)
}

// end closes a generation that nobody holds.
func (h *Handle) end(g *generation) (err error) {
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.old, g)
		if err != nil {
			h.stats.LastError, h.stats.LastErrorTime = err, time.Now()
		}
	}()
	return g.close()
}

// close closes what Prepare made, and the model.
func (g *generation) close() (err error) {
	defer func() { err = errors.Join(err, g.model.Close()) }()
	return g.closeValue()
}

// closeValue makes an error of a panic: who lets go last is a goroutine that nobody else sees.
func (g *generation) closeValue() (err error) {
	c, ok := g.value.(io.Closer)
	if !ok {
		return nil
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("what Prepare made panicked in Close: %v", thrown)
		}
	}()
	return c.Close()
}
