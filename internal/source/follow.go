package source

import "context"

// What the reader behind a region may know, and want to know: see format.OpenReaderAt.
type (
	// named is called so in errors.
	named interface{ Path() string }
	// prover tells up to where bytes exist, so that nobody has to try.
	prover interface{ Proven() int64 }
	// parsee is told that the structure of a model was read.
	parsee interface{ Parsed() }
	// contextual ends a read with a context.
	contextual interface {
		ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
	}
	// parallel knows how many reads at the same time are worth it.
	parallel interface{ Parallel() int }
	// canceler is told to end what it is reading.
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

// bound is a reader for the time of a context.
type bound struct {
	contextual
	ctx context.Context
}

func (b bound) ReadAt(p []byte, off int64) (int, error) { return b.ReadAtContext(b.ctx, p, off) }

// ReadAtContext is ReadAt of a range of the window, which ends with the context where the reader can.
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

// Parallel returns how many reads at the same time are worth it, 0 if nobody says.
func (r *Region) Parallel() int {
	if p, ok := r.src.(parallel); ok {
		return p.Parallel()
	}
	return 0
}

// tellParsed tells the reader, if it wants to know.
func (r *Region) tellParsed() {
	if p, ok := r.src.(parsee); ok {
		p.Parsed()
	}
}

// cancel tells the reader to end what it reads, which Close would wait for.
func (r *Region) cancel() {
	if c, ok := r.src.(canceler); ok {
		c.Cancel()
	}
}
