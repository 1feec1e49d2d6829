package source

import "context"

// Optional methods of the reader behind a region: see format.OpenReaderAt.
type (
	// named returns the name for errors.
	named interface{ Path() string }
	// prover returns the offset up to which bytes are known to exist.
	prover interface{ Proven() int64 }
	// parsee is notified when the structure of a model has been read.
	parsee interface{ Parsed() }
	// contextual reads with a context.
	contextual interface {
		ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
	}
	// parallel returns the useful number of concurrent reads.
	parallel interface{ Parallel() int }
	// canceler cancels running reads.
	canceler interface{ Cancel() }
)

// Prove makes sure that the window has bytes up to end, before memory is allocated for them.
func (r *Region) Prove(end int64) error {
	if err := r.Check(0, end); err != nil || end == 0 {
		return err
	}
	if r.src == nil {
		_, err := r.ReadAt(make([]byte, 1), end-1)
		return err
	}
	if err := r.Enter(); err != nil {
		return err
	}
	defer r.Leave()
	if err := r.prove(end); err != nil {
		return r.fail(end-1, err)
	}
	return nil
}

// bound is a reader with a context.
type bound struct {
	contextual
	ctx context.Context
}

func (b bound) ReadAt(p []byte, off int64) (int, error) { return b.ReadAtContext(b.ctx, p, off) }

// Parallel returns the useful number of concurrent reads, or 0 if unknown.
func (r *Region) Parallel() int {
	if p, ok := r.src.(parallel); ok {
		return p.Parallel()
	}
	return 0
}

// cancel cancels running reads of the reader, for which Close would wait.
func (r *Region) cancel() {
	if c, ok := r.src.(canceler); ok {
		c.Cancel()
	}
}
