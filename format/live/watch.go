package live

import (
	"context"
	"time"
)

const (
	defaultInterval = time.Second
	// mostSkipped is how many looks follow a failure without loading anything, at most.
	mostSkipped = 64
)

// Watch looks at the path at every Options.Interval, and reloads when it leads to other files
// than those of the current generation, in two looks one after the other: so a file that
// is still being copied is left alone as long as it grows. What was refused is not
// looked at again until it changes. What failed for reasons of the system (too many open files), or was
// still being written when it was refused, is after 1, 2, 4 and up to 64 looks. What is missing is waited for. Watch
// returns when the context ends, or the handle is closed, with that error.
func (h *Handle) Watch(ctx context.Context) error {
	if h.life == nil {
		return h.errClosed()
	}
	interval := h.o.Interval
	if interval == 0 {
		interval = defaultInterval
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var w watcher
	for {
		w.look(ctx, h)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.life.Done():
			return h.errClosed()
		case <-tick.C:
		}
	}
}

// watcher is what Watch remembers from look to look.
type watcher struct {
	last    identity // how the files looked
	skip    int      // so many looks load nothing
	failing int      // what skip was after the last failure
}

// look looks once.
func (w *watcher) look(ctx context.Context, h *Handle) {
	cur := h.current.Load()
	if cur == nil {
		return
	}
	if w.skip > 0 {
		w.skip--
	}
	now := cur.id.again()
	stable := w.last.change(now) == same
	w.last = now
	if c := h.noteChange(cur, now); c == same || c == missing || !stable || w.skip > 0 || h.isRefused() {
		return
	}
	if _, err := h.Reload(ctx); err == nil || h.isRefused() {
		w.failing = 0
		return
	}
	w.failing = min(max(1, 2*w.failing), mostSkipped)
	w.skip = w.failing
}

// isRefused reports whether the path leads to what was refused before.
func (h *Handle) isRefused() bool {
	h.mu.Lock()
	refused := h.refused
	h.mu.Unlock()
	return refused.seen()
}
