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

// ReadAtContext is ReadAt with a context, which cancels the read if the reader supports that.
func (r *Region) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	c, ok := r.src.(contextual)
	if !ok {
		return r.ReadAt(p, off)
	}
	if err := r.Check(off, int64(len(p))); err != nil {
		return 0, err
	}
	if err := r.Enter(); err != nil {
		return 0, err
	}
	defer r.Leave()
	n, err := readAt(bound{c, ctx}, p, off)
	if err != nil {
		return n, r.fail(off+int64(n), err)
	}
	return n, nil
}

// Parallel returns the useful number of concurrent reads, or 0 if unknown.
func (r *Region) Parallel() int {
	if p, ok := r.src.(parallel); ok {
		return p.Parallel()
	}
	return 0
}

// tellParsed notifies the reader that parsing is complete.
func (r *Region) tellParsed() {
	if p, ok := r.src.(parsee); ok {
		p.Parsed()
	}
}

// cancel cancels running reads of the reader, for which Close would wait.
func (r *Region) cancel() {
	if c, ok := r.src.(canceler); ok {
		c.Cancel()
	}
}
