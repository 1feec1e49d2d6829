package live

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/stripes"
)

// generation is a model that is or was current. It is closed once, after it was retired and its last
// lease was released; package stripes explains how that is detected.
type generation struct {
	h       *Handle
	retired atomic.Bool // no longer current: the last Release closes it
	ended   atomic.Bool // it is being closed

	model  *format.Model
	value  any // result of Options.Prepare
	number uint64
	id     identity
	since  time.Time
	took   time.Duration // load time
	stats  format.Stats  // after loading

	_    [128]byte // avoids false sharing of retired with uses
	uses stripes.Counter
}

// shared reports whether the model is mapped or read on demand: a writer of its files can change it.
func (g *generation) shared() bool { return g.stats.Mapped+g.stats.OnDemand > 0 }

// The waits of retire between two looks: about 30 ms in total.
const (
	shortest = 60 * time.Microsecond
	longest  = 256 * shortest
)

// retire closes a generation that is no longer current when its last lease is released. It first waits
// for short leases, because unmapping may take milliseconds, which would delay the request that
// releases last or the next one on its processor.
func (g *generation) retire() error {
	for wait := shortest; g.uses.Sum() != 0 && wait <= longest; wait *= 2 {
		time.Sleep(wait)
	}
	g.retired.Store(true)
	if g.unheld() {
		return g.end()
	}
	return nil
}

// release ends a lease, and closes a retired generation after the last.
func (g *generation) release() {
	g.uses.Own().Add(-1)
	if g.retired.Load() && g.unheld() {
		go g.end()
	}
}

// unheld reports whether a retired generation has no leases. It returns true to one caller only.
func (g *generation) unheld() bool {
	n := g.uses.Sum()
	if n < 0 {
		panic("live: a Lease was released more than once, by way of a copy")
	}
	return n == 0 && g.ended.CompareAndSwap(false, true)
}

// end closes a generation without leases.
func (g *generation) end() error {
	err := g.close()
	g.h.update(func(s *Stats) {
		delete(g.h.all, g)
		if err != nil {
			s.LastError, s.LastErrorTime = err, time.Now()
		}
	})
	return err
}

// close closes the result of Prepare and the model.
func (g *generation) close() (err error) {
	if c, ok := g.value.(io.Closer); ok {
		err = c.Close()
	}
	return errors.Join(err, g.model.Close())
}
