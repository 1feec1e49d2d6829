package live

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/source"
)

var (
	// ErrChanged means that the files kept changing while they were loaded.
	ErrChanged = errors.New("the files changed while they were loaded")
	// ErrOverwritten means that the files of a generation were changed in place.
	ErrOverwritten = errors.New("the files were overwritten in place")
)

// Reload loads the model that is now at the path, unless it is current already, and returns the number of the
// generation that is then current. It opens, verifies, validates, prepares and warms the model as Options say, and
// checks that its files did not change meanwhile; only then the model becomes current. If Reload fails the
// old generation stays current. Errors are those of format.Open, Model.Verify, Options.Validate and
// Options.Prepare, ErrChanged, ErrClosed, or the error of the context.
//
// Concurrent calls wait for each other. Each looks at the path when its turn comes, so that a call that waited for
// another that loaded the model does nothing.
func (h *Handle) Reload(ctx context.Context) (uint64, error) { return h.reload(ctx, false) }

// ForceReload is Reload, but also loads a model that is current already.
func (h *Handle) ForceReload(ctx context.Context) (uint64, error) { return h.reload(ctx, true) }

func (h *Handle) reload(ctx context.Context, force bool) (uint64, error) {
	if h.life == nil {
		return 0, h.errClosed()
	}
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return h.number(), ctx.Err()
	case <-h.life.Done():
		return 0, h.errClosed()
	}
	if h.life.Err() != nil {
		return 0, h.errClosed()
	}
	if cur := h.current.Load(); cur != nil && h.noteChange(cur, cur.id.again()) == same && !force {
		return cur.number, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.life, cancel)()
	start := time.Now()
	g, at, err := h.load(ctx)
	if err == nil {
		g.took = time.Since(start)
		return h.install(g)
	}
	if h.life.Err() != nil {
		return 0, h.errClosed()
	}
	if h.number() == 0 {
		return 0, err // Open's caller gets it
	}
	h.refuse(at, err)
	h.notify(Event{Kind: Refused, Generation: h.number(), Took: time.Since(start), Err: err})
	return h.number(), err
}

// number returns that of the current generation, 0 for none.
func (h *Handle) number() uint64 {
	if g := h.current.Load(); g != nil {
		return g.number
	}
	return 0
}

// install makes g current.
func (h *Handle) install(g *generation) (uint64, error) {
	g.number, g.since, g.format, g.stats = h.number()+1, time.Now(), g.model.Format(), g.model.Stats()
	g.shared = g.stats.Mapped+g.stats.OnDemand > 0
	h.mu.Lock()
	h.stats.Loads++
	h.stats.Overwritten, h.stats.Missing, h.stats.Stale = false, false, false
	h.refused = identity{}
	h.mu.Unlock()
	if old := h.current.Swap(g); old != nil {
		defer h.retire(old) // also if Notify panics; Stats has the error, and the new one is current
	}
	h.notify(Event{Kind: Loaded, Generation: g.number, Took: g.took})
	return g.number, nil
}

// refuse remembers what could not be loaded, unless its writer may have been at it then, and what is there now looks
// the same.
func (h *Handle) refuse(at identity, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Failures++
	h.stats.LastError, h.stats.LastErrorTime = err, time.Now()
	h.refused = identity{}
	if isVerdict(err) && !at.fresh() {
		h.refused = at
	}
}

// isVerdict reports whether an error is about the files, and will be the same until they change. A mapping
// that loses pages of a file that stays as it is has met an error of the disk.
func isVerdict(err error) bool {
	var p *fs.PathError
	var s *os.SyscallError
	var n syscall.Errno
	return !errors.As(err, &p) && !errors.As(err, &s) && !errors.As(err, &n) && !errors.Is(err, source.ErrCut) &&
		!errors.Is(err, ErrChanged) && !errors.Is(err, format.ErrLimit) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// attempts is how often files are loaded anew that change meanwhile.
const attempts = 4

// load makes a generation of what the path leads to, and returns what it looked like. Whatever it
// is that has been read, the files were the same before they were opened and after all
// of it was done.
func (h *Handle) load(ctx context.Context) (*generation, identity, error) {
	bundles := h.bundles()
	before := look(append([]string{h.path}, bundles...), len(bundles))
	if cur := h.current.Load(); cur != nil {
		before = cur.id.again()
	}
	for range attempts {
		m, opened, err := h.openModel(ctx)
		if err != nil {
			now := before.again()
			if before.change(now) == same || ctx.Err() != nil {
				return nil, before, err
			}
			before = now
			continue
		}
		if files := slices.Concat(opened, bundles); !slices.Equal(files, before.paths) {
			// Its other files are looked at before they are opened, too.
			if err := m.Close(); err != nil {
				return nil, before, err
			}
			before = look(files, len(bundles))
			continue
		}
		g := &generation{model: m, id: before}
		err = h.examine(ctx, g)
		now := before.again()
		unchanged := before.change(now) == same
		if unchanged && err == nil {
			return g, before, nil
		}
		if err := errors.Join(err, g.close()); unchanged || ctx.Err() != nil {
			return nil, before, err
		}
		before = now
	}
	return nil, before, h.fail(ErrChanged)
}

// openModel opens the model for as long as ctx lasts, and returns the paths of its files.
func (h *Handle) openModel(ctx context.Context) (*format.Model, []string, error) {
	o := h.open
	o.Context = ctx
	if h.o.Copy {
		return h.openCopy(&o)
	}
	m, err := format.Open(h.path, &o)
	if err != nil {
		return nil, nil, err
	}
	return m, h.files(m), nil
}

// files returns the paths of the files of a model, the first by the name it was opened by.
func (h *Handle) files(m *format.Model) []string {
	files := m.Files()
	if files[0] == h.path {
		return files
	}
	return append([]string{h.path}, files...) // a directory, and the file that opens it
}

// bundles returns where a detached signature may be (signing.Policy): it is as much of the model as its files.
func (h *Handle) bundles() []string {
	if p, ok := h.open.Trusted.(interface{ BundlePaths(model string) []string }); ok {
		return p.BundlePaths(h.path)
	}
	return nil
}

// examine does all that must succeed before a generation becomes current. What Prepare made
// is in g also when something else fails.
func (h *Handle) examine(ctx context.Context, g *generation) (err error) {
	finished := false
	defer func() {
		if !finished { // the program's functions panicked
			_ = g.close()
		}
	}()
	err = h.steps(ctx, g)
	finished = true
	return err
}

func (h *Handle) steps(ctx context.Context, g *generation) error {
	m := g.model
	// All files are mapped now: what replaces one later is of another generation.
	for name := range m.Tensors() {
		if _, err := m.Tensor(name); err != nil {
			return err
		}
	}
	if h.o.Verify {
		if _, err := m.Verify(ctx, format.WithWorkers(h.workers())); err != nil {
			return err
		}
	}
	err := m.Do(func() (err error) {
		if h.o.Validate != nil {
			err = h.o.Validate(m)
		}
		if err == nil && h.o.Prepare != nil {
			g.value, err = h.o.Prepare(ctx, m)
		}
		return err
	})
	if err == nil && h.o.Warm {
		err = warm(ctx, m)
	}
	if err == nil {
		err = lock(ctx, m, h.o.Hot)
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

func (h *Handle) workers() int {
	if h.o.Workers > 0 {
		return h.o.Workers
	}
	return max(1, runtime.GOMAXPROCS(0)/4)
}
