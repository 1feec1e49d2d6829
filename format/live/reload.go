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
		return 0, err // returned by Open
	}
	h.refuse(at, err)
	h.notify(Event{Kind: Refused, Generation: h.number(), Took: time.Since(start), Err: err})
	return h.number(), err
}

// number returns the number of the current generation, or 0.
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
		defer h.retire(old) // also if Notify panics; Stats has the error
	}
	h.notify(Event{Kind: Loaded, Generation: g.number, Took: g.took})
	return g.number, nil
}

// refuse records the files that could not be loaded, unless they were being written or have changed
// since.
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

// isVerdict reports whether an error is about the content of the files, so that it will not change
// until they do. A fault in the mapping of a file that did not shrink is a disk error instead.
func isVerdict(err error) bool {
	var p *fs.PathError
	var s *os.SyscallError
	var n syscall.Errno
	return !errors.As(err, &p) && !errors.As(err, &s) && !errors.As(err, &n) && !errors.Is(err, source.ErrCut) &&
		!errors.Is(err, ErrChanged) && !errors.Is(err, format.ErrLimit) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// attempts is the number of loads before ErrChanged.
const attempts = 4

// load loads the model at the path, and returns the identity of its files. It ensures that the files
// did not change from before they were opened until everything was read.
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
			// Open it again, now that the other files are known, to look at them before opening too.
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

// openModel opens the model with ctx, and returns the paths of its files.
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

// files returns the paths of a model's files, beginning with the path it was opened by.
func (h *Handle) files(m *format.Model) []string {
	files := m.Files()
	if files[0] == h.path {
		return files
	}
	return append([]string{h.path}, files...) // a directory and its entry file
}

// bundles returns the possible paths of a detached signature (signing.Policy), which is part of the
// model.
func (h *Handle) bundles() []string {
	if p, ok := h.open.Trusted.(interface{ BundlePaths(model string) []string }); ok {
		return p.BundlePaths(h.path)
	}
	return nil
}

// examine does everything that must succeed before a generation becomes current. Even if it fails, g
// has the result of Prepare.
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
	// All files are mapped now: a file that replaces one later belongs to another generation.
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
