package live

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"github.com/weightmap/weightmap/internal/source"
)

// mostSkipped is the largest number of looks without a load after a failure.
const mostSkipped = 64

// Watch looks at the path every Options.Interval, and reloads when two looks in succession find the
// same files, other than those of the current generation: a file that is being copied is left alone
// while it grows.
//
// If a load fails, Watch tries again after 1, 2, 4 and up to 64 looks, or when the files change. It
// sends the event of a failure once, until the files or the error change. It waits for a missing
// file to appear. Watch returns the error of the context when that ends, and ErrClosed when the
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
	told    string   // the last failure of these files
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
		w.skip = 0
		w.failing = 0
		w.told = ""
	}
	if c := h.noteChange(cur, now); c == same || c == missing || !stable || w.skip > 0 {
		return
	}
	w.failing = min(max(1, 2*w.failing), mostSkipped)
	told := w.told
	w.told = ""
	if _, err := h.reload(ctx, false, told); err != nil {
		w.told = err.Error()
	} else {
		w.failing = 0
	}
	w.skip = w.failing
}

// identity is the device, inode, size, modification time and ctime of the files of a model, after
// following links. The first is the model's own file or directory.
type identity struct {
	paths []string
	infos []os.FileInfo // nil if missing
}

// look returns the identity of files.
func look(paths []string) identity {
	id := identity{paths, make([]os.FileInfo, len(paths))}
	for i, path := range paths {
		id.infos[i], _ = os.Stat(path)
		// Windows reads the file's identity lazily, by name. This call makes it do so now.
		os.SameFile(id.infos[i], id.infos[i])
	}
	return id
}

// change is the difference between two looks at files.
type change uint8

const (
	same        change = iota
	replaced           // another file is at a path
	overwritten        // the same file was changed in place
	missing            // the model's path does not exist
)

// change compares two looks.
func (id identity) change(now identity) (what change) {
	if !slices.Equal(id.paths, now.paths) {
		return replaced
	}
	if id.infos[0] != nil && now.infos[0] == nil {
		return missing
	}
	for i, was := range id.infos {
		what = max(what, changeOf(was, now.infos[i]))
	}
	return what
}

// changeOf compares two looks at one path.
func changeOf(was, now os.FileInfo) change {
	switch {
	case was == nil && now == nil:
		return same
	case was == nil || now == nil || !os.SameFile(was, now):
		return replaced
	case was.Size() == now.Size() && was.ModTime().Equal(now.ModTime()) && source.Changed(was).Equal(source.Changed(now)):
		return same
	case was.Mode().IsRegular():
		return overwritten
	}
	return replaced
}
