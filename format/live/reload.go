package live

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/weightmap/weightmap/format"
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
	g, err := h.load(ctx)
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
	h.mu.Lock()
	h.stats.Failures++
	h.stats.LastError, h.stats.LastErrorTime = err, time.Now()
	h.mu.Unlock()
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
	h.mu.Unlock()
	if old := h.current.Swap(g); old != nil {
		defer h.retire(old) // also if Notify panics; Stats has the error
	}
	h.notify(Event{Kind: Loaded, Generation: g.number, Took: g.took})
	return g.number, nil
}

// attempts is the number of loads before ErrChanged.
const attempts = 4

// load loads the model at the path. It ensures that the files did not change from before they were
// opened until everything was read.
func (h *Handle) load(ctx context.Context) (*generation, error) {
	bundles := h.bundles()
	before := look(append([]string{h.path}, bundles...))
	if cur := h.current.Load(); cur != nil {
		before = cur.id.again()
	}
	for range attempts {
		m, files, err := h.openModel(ctx)
		if err == nil {
			if files = slices.Concat(files, bundles); !slices.Equal(files, before.paths) {
				// Open it again, now that the other files are known, to look at them before opening too.
				if err := m.Close(); err != nil {
					return nil, err
				}
				before = look(files)
				continue
			}
			g := &generation{model: m, id: before}
			if err = h.examine(ctx, g); err == nil && before.change(before.again()) == same {
				return g, nil
			}
			err = errors.Join(err, g.close())
		}
		now := before.again()
		if err != nil && (before.change(now) == same || ctx.Err() != nil) {
			return nil, err
		}
		before = now
	}
	return nil, h.fail(ErrChanged)
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
func (h *Handle) examine(ctx context.Context, g *generation) error {
	m := g.model
	// All files are mapped now: a file that replaces one later belongs to another generation.
	var all []string
	for name := range m.Tensors() {
		if _, err := m.Tensor(name); err != nil {
			return err
		}
		all = append(all, name)
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
		err = warm(ctx, m, all)
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
