package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// probeOver is the size above which a read checks that the bytes exist before
// it allocates memory for them.
const probeOver = 1 << 20

// Bytes returns the whole window, or nil for readers and after the memory was
// released. Use the slice under fault.Guard, between Enter and Leave or while parsing;
// it does not count as exposed. Of a sealed region, use only ranges that were passed to Show.
func (r *Region) Bytes() []byte {
	if r.state.Load()&gone != 0 {
		return nil
	}
	return r.win
}

// Slice returns n bytes at offset off of the window. In memory they alias the window, with the
// restrictions of Bytes. From a reader and from a sealed region they are read into a new buffer
// aligned to 64 bytes, which is allocated only if the reader has the bytes.
//
// A range beyond the window fails with tensor.ErrTruncated, a negative one with
// tensor.ErrCorrupt.
func (r *Region) Slice(off, n int64) ([]byte, error) {
	if err := r.Check(off, n); err != nil {
		return nil, err
	}
	if r.src == nil && r.seal == nil {
		if r.state.Load()&gone != 0 {
			return nil, r.fail(-1, tensor.ErrClosed)
		}
		return r.win[off : off+n : off+n], nil
	}
	return r.Copy(off, n)
}

// Copy is like Slice but always copies to a new buffer.
func (r *Region) Copy(off, n int64) ([]byte, error) {
	if err := r.Check(off, n); err != nil {
		return nil, err
	}
	if err := r.Enter(); err != nil {
		return nil, err
	}
	defer r.Leave()
	if n > probeOver && r.src != nil {
		if err := r.prove(off + n); err != nil {
			return nil, r.fail(off, err)
		}
	}
	if err := wire.CheckSize(n); err != nil {
		return nil, r.fail(off, err)
	}
	b := memory.Aligned(int(n))
	if _, err := r.read(context.Background(), b, off); err != nil {
		return nil, r.fail(off, err)
	}
	return b, nil
}

// ReadAt implements io.ReaderAt on the window. It keeps the memory mapped and is
// guarded: for missing pages of a mapping, and bytes that a reader lacks, it
// returns tensor.ErrTruncated.
func (r *Region) ReadAt(p []byte, off int64) (int, error) {
	return r.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt with a context, which cancels the read if the reader supports that.
func (r *Region) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, r.fail(-1, rangeError(tensor.ErrCorrupt, off, int64(len(p)), r.size))
	}
	if err := r.Enter(); err != nil {
		return 0, err
	}
	defer r.Leave()
	var eof error
	if rest := max(0, r.size-off); int64(len(p)) > rest {
		p = p[:rest]
		eof = io.EOF
	}
	if len(p) == 0 {
		return 0, eof
	}
	n, err := r.read(ctx, p, off)
	if err != nil {
		return n, r.fail(off+int64(n), err)
	}
	return n, eof
}

// read fills p from a range of the window. Every byte that is copied out of a region passes here.
func (r *Region) read(ctx context.Context, p []byte, off int64) (n int, err error) {
	if r.seal != nil {
		return r.seal.read(ctx, r, p, off)
	}
	return r.fetch(ctx, p, off)
}

// fetch reads a range of the window that nothing was compared with yet. It checks the result of a
// reader: n is at most len(p), and p is full unless there is an error.
func (r *Region) fetch(ctx context.Context, p []byte, off int64) (n int, err error) {
	switch {
	case r.src == nil:
		return r.copyAt(p, off)
	case r.reader != nil && r.reader.ReadContext != nil && ctx.Done() != nil:
		n, err = r.reader.ReadContext(ctx, p, off)
	default:
		n, err = r.src.ReadAt(p, off)
	}
	switch {
	case n == len(p):
		return n, nil
	case n < 0 || n > len(p):
		return 0, fmt.Errorf("%w: asked for %d bytes, the source claims to have read %d", tensor.ErrCorrupt, len(p), n)
	case errors.Is(err, tensor.ErrTruncated):
	case n == 0 && err == nil:
		err = fmt.Errorf("%w: the source delivers nothing: %w", tensor.ErrTruncated, io.ErrNoProgress)
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w: the source ends before its size", tensor.ErrTruncated)
	}
	return n, err
}

// Check returns the error of Slice for an invalid range.
func (r *Region) Check(off, n int64) error {
	switch {
	case off < 0 || n < 0:
		return r.fail(-1, rangeError(tensor.ErrCorrupt, off, n, r.size))
	case n > r.size-off: // the difference is negative if off is beyond the end
		return r.fail(off, rangeError(tensor.ErrTruncated, off, n, r.size))
	}
	return nil
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

// prove checks that the reader has bytes up to end, so that a false size cannot
// cause a large allocation. It reads the last byte of the window, once, and the
// last byte of the range only if that is missing.
func (r *Region) prove(end int64) error {
	if end <= r.proven.Load() {
		return nil
	}
	if r.probe(r.size) == nil {
		r.proven.Store(r.size)
		return nil
	}
	return r.probe(end)
}

// probe reads the byte before offset end.
func (r *Region) probe(end int64) error {
	_, err := r.read(context.Background(), make([]byte, 1), end-1)
	return err
}
