package source

import "context"

// contextual is an optional method of the reader behind a region, as Path, Proven, Parsed, Parallel and Cancel are: see
// format.OpenReaderAt.
type contextual interface {
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
}

// Prove makes sure that the window has bytes up to end, before memory is allocated for them.
func (r *Region) Prove(end int64) error {
	if err := r.Check(0, end); err != nil || end == 0 {
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

// Parallel returns the useful number of concurrent reads, or 0 if unknown.
func (r *Region) Parallel() int {
	if p, ok := r.src.(interface{ Parallel() int }); ok {
		return p.Parallel()
	}
	return 0
}
