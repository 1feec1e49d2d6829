package live

import (
	"cmp"
	"context"
	"time"
)

// mostSkipped is the largest number of looks without a load after a failure.
const mostSkipped = 64

// Watch looks at the path every Options.Interval, and reloads when two looks in succession find the same files, other
// than those of the current generation: a file that is being copied is left alone while it grows.
//
// If a load fails, Watch tries again after 1, 2, 4 and up to 64 looks, or when the files change. It waits for a
// missing file to appear. Watch returns the error of the context when that ends, and ErrClosed when the
// handle is closed.
func (h *Handle) Watch(ctx context.Context) error {
	tick := time.NewTicker(cmp.Or(h.o.Interval, time.Second))
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

// watcher is the state of Watch.
type watcher struct {
	last    identity // identity at the last look
	skip    int      // number of looks before the next load
	failing int      // skip after the last failure
}

// look looks at the path once, and reloads if necessary.
func (w *watcher) look(ctx context.Context, h *Handle) {
	cur := h.current.Load()
	if cur == nil {
		return
	}
	now := look(cur.id.paths)
	stable := w.last.change(now) == same
	w.last = now
	w.skip--
	if !stable {
		w.skip, w.failing = 0, 0
	}
	if c := h.noteChange(cur, now); c == same || c == missing || !stable || w.skip > 0 {
		return
	}
	w.failing = min(max(1, 2*w.failing), mostSkipped)
	if _, err := h.Reload(ctx); err == nil {
		w.failing = 0
	}
	w.skip = w.failing
}
