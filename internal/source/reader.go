package source

import (
	"context"
	"io"
)

// Reader is the reader of a program, with what it can do beside ReadAt. Package format finds that
// out: see its reader.go.
type Reader struct {
	io.ReaderAt
	Path     string // for errors
	Proven   int64  // the number of bytes known to exist
	Parallel int    // the useful number of concurrent reads, 0 if unknown

	// Each of these may be nil.

	ReadContext func(ctx context.Context, p []byte, off int64) (int, error) // in place of ReadAt
	Parsed      func()                                                      // the structure was read
	Cancel      func()                                                      // end running reads: the region is closed
}

// Parallel returns the useful number of concurrent reads, or 0 if unknown.
func (r *Region) Parallel() int {
	if r.reader == nil {
		return 0
	}
	return r.reader.Parallel
}
