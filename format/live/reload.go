package live

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/weightmap/weightmap/format"
)

var (
	// ErrChanged means that the files kept changing while they were loaded. It is
	// format.ErrChanged.
	ErrChanged = format.ErrChanged
	// ErrOverwritten means that the files of a generation were changed in place.
	ErrOverwritten = errors.New("the files were overwritten in place")
)

// Reload loads the model that is now at the path, unless it is current already, and returns the
// number of the generation that is then current. It opens, verifies, validates, prepares and warms
// the model as Options say, and checks that its files did not change meanwhile; only then the model
// becomes current. If Reload fails the old generation stays current. Errors are those of
// format.Open, Model.Verify, Options.Validate and Options.Prepare, ErrChanged, ErrClosed, or the
// error of the context.
//
// Concurrent calls wait for each other. Each looks at the path when its turn comes, so that a call
// that waited for another that loaded the model does nothing.
func (h *Handle) Reload(ctx context.Context) (uint64, error) { return h.reload(ctx, false, "") }

// ForceReload is Reload, but also loads a model that is current already.
func (h *Handle) ForceReload(ctx context.Context) (uint64, error) { return h.reload(ctx, true, "") }

// reload is Reload. It sends no event for a model that is refused with the error told.
func (h *Handle) reload(ctx context.Context, force bool, told string) (uint64, error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return h.number(), ctx.Err()
	}
	if h.life.Err() != nil {
		return 0, h.errClosed()
	}
	if cur := h.current.Load(); cur != nil && h.noteChange(cur, look(cur.id.paths)) == same && !force {
		return cur.number, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.life, cancel)()
	start := time.Now()
	g, err := h.load(ctx)
	switch {
	case err == nil:
		return h.install(g, time.Since(start))
	case h.life.Err() != nil:
		return 0, h.errClosed()
	case h.number() == 0:
		return 0, err // returned by Open
	}
	h.update(func(s *Stats) {
		s.Failures++
		s.LastError = err
		s.LastErrorTime = time.Now()
	})
	if err.Error() != told {
		h.notify(Event{Kind: Refused, Generation: h.number(), Took: time.Since(start), Err: err})
	}
	return h.number(), err
}

// number returns the number of the current generation, or 0.
func (h *Handle) number() uint64 { return cmp.Or(h.current.Load(), &none).number }

// install makes g current.
func (h *Handle) install(g *generation, took time.Duration) (uint64, error) {
	g.number = h.number() + 1
	g.since = time.Now()
	g.took = took
	g.stats = g.model.Stats()
	var old *generation
	h.update(func(s *Stats) {
		s.Loads++
		s.Stale = false
		s.Missing = false
		s.Overwritten = false
		h.all[g] = struct{}{}
		old = h.current.Swap(g)
	})
	if old != nil {
		defer old.retire() // also if Notify panics; Stats has the error
	}
	h.notify(Event{Kind: Loaded, Generation: g.number, Took: took})
	return g.number, nil
}

// attempts is the number of loads before ErrChanged.
const attempts = 4

// load loads the model at the path. It ensures that the files did not change from before they were
// opened until everything was read.
func (h *Handle) load(ctx context.Context) (*generation, error) {
	before := look(append([]string{h.path}, h.bundles()...))
	if cur := h.current.Load(); cur != nil {
		before = look(cur.id.paths)
	}
	for range attempts {
		m, files, err := h.openModel(ctx)
		if err == nil {
			g := &generation{h: h, model: m, id: before}
			if !slices.Equal(files, before.paths) {
				// Open it again, now that the other files are known, to look at them before opening
				// too.
				_ = g.end() // Stats has the error
				before = look(files)
				continue
			}
			if err = h.examine(ctx, g); err == nil && before.change(look(before.paths)) == same {
				return g, nil
			}
			err = errors.Join(err, g.end())
		}
		now := look(before.paths)
		if err != nil && (before.change(now) == same || ctx.Err() != nil) {
			return nil, err
		}
		before = now
	}
	return nil, h.fail(ErrChanged)
}

// openModel opens the model with ctx, and returns the paths of its files, beginning with the path
// it was opened by.
func (h *Handle) openModel(ctx context.Context) (m *format.Model, files []string, err error) {
	o := h.open
	o.Context = ctx
	m, err = format.Open(h.path, &o)
	if err != nil {
		return nil, nil, err
	}
	files = m.Files()
	if files[0] != h.path { // a directory and its entry file
		files = append([]string{h.path}, files...)
	}
	return m, slices.Concat(files, h.bundles()), nil
}

// bundles returns the possible paths of a detached signature (signing.Policy), which is part of the
// model.
func (h *Handle) bundles() []string {
	if p, ok := h.open.Trusted.(format.TrustWatcher); ok {
		return p.Paths(h.path)
	}
	return nil
}

// examine does everything that must succeed before a generation becomes current. Even if it fails,
// g has the result of Prepare.
func (h *Handle) examine(ctx context.Context, g *generation) error {
	m := g.model
	var needed []format.Request
	// All files are open now: a file that replaces one later belongs to another generation.
	for name := range m.Tensors() {
		if _, err := m.Tensor(name); err != nil {
			return err
		}
		if h.o.Warm || slices.Contains(h.o.Hot, name) {
			needed = append(needed, format.Request{Tensor: name})
		}
	}
	if h.o.Verify {
		workers := cmp.Or(h.o.Workers, max(1, runtime.GOMAXPROCS(0)/4))
		if _, err := m.Verify(ctx, &format.VerifyOptions{Workers: workers}); err != nil {
			return err
		}
	}
	err := m.Guard(func() (err error) {
		if h.o.Validate != nil {
			err = h.o.Validate(m)
		}
		if err == nil && h.o.Prepare != nil {
			g.value, err = h.o.Prepare(ctx, m)
		}
		return err
	})
	if err == nil {
		// Load decodes compressed tensors, compares checksums, and reads the pages of the others
		// into memory.
		err = m.Load(ctx, needed, nil)
	}
	for i := 0; err == nil && i < len(h.o.Hot); i++ {
		v, _ := m.Tensor(h.o.Hot[i]) // Lock returns the error
		err = v.Lock()
	}
	return cmp.Or(err, ctx.Err())
}
