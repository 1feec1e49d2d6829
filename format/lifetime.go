package format

import (
	"cmp"
	"context"
	"errors"

	"github.com/weightmap/weightmap/internal/memory"
)

// Prefetch asks the system to read the files ahead. It returns before they are read, but opens
// those that were not used yet, which may be many; with Options.Lock it reads them.
func (m *Model) Prefetch(ctx context.Context) error {
	m = m.opened()
	ctx = cmp.Or(ctx, context.Background())
	err := m.Guard(func() error { return m.spaces.openAll(ctx) })
	if err != nil {
		return err
	}
	return m.advise(memory.Prefetch)
}

// Evict reduces the memory of the process: it unmaps the pages of the mapped files and drops cached
// and decoded tensors. Raw slices stay valid; what is used again is mapped again, mostly from the
// page cache, or decoded again. Locked pages stay (Options.Lock), and on systems other than Linux
// and Android all mapped pages do.
func (m *Model) Evict() error {
	m = m.opened()
	m.cache.evict()
	m.c.trust.forget()
	return m.advise(memory.Evict)
}

// advise applies an Advice to all files.
func (m *Model) advise(a memory.Advice) error {
	return m.Guard(func() error {
		for r := range m.regions() {
			if _, err := r.Advise(a, 0, r.Size()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close makes further access return ErrClosed, waits for running calls such as View.Use, Guard and
// Verify, and unmaps the file. A function that such a call runs must not call Close, which would
// wait for it forever; the body of a loop over Tensors may. A second Close does nothing.
func (m *Model) Close() error {
	m = m.opened()
	err := m.main.Close()
	m.cache.evict()
	if m.parsed != nil && m.parsed.Close != nil {
		err = errors.Join(err, m.parsed.Close())
	}
	return err
}
