package source

// What the reader behind a region may know, and want to know: see format.OpenReaderAt.
type (
	// prover tells up to where bytes exist, so that nobody has to try.
	prover interface{ Proven() int64 }
	// parsee is told that the structure of a model was read.
	parsee interface{ Parsed() }
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
