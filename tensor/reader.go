package tensor

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
)

// FromReaderAt returns a view of a tensor whose little-endian bytes r returns from offset 0 on. It
// uses the fields Name, DType, Shape, Quant and Encoding of info, and Size for an Encoding without
// a block size. Nothing is read until the view is used, and each use reads again: ReadInto, ReadAt,
// Decode and DecodeAt what they return, Slice its part, Bytes, Use and Clone the tensor. As returns
// ErrUnsupported, since there is no memory to view: use Decode, or As on a Clone. If r has a method
// ReadAtContext, contexts cancel running reads.
//
// The caller closes r, after the last use. If r ends before the tensor does, the error is
// ErrTruncated.
func FromReaderAt(info Info, r io.ReaderAt) (View, error) {
	size, err := info.ByteSize()
	if e := info.Encoding; e != nil && e.BlockBytes <= 0 {
		size = info.Size
		err = nil
	}
	switch {
	case err != nil:
	case r == nil:
		err = fmt.Errorf("%w: no reader", ErrOption)
	case size < 0:
		err = fmt.Errorf("%w: a size of %d bytes", ErrShape, size)
	}
	if err != nil {
		return refuse(&info, err)
	}
	info.Shape = info.Shape.Clone()
	info.File = 0
	info.Offset = 0
	info.Size = size
	info.Stored = size
	info.Compression = ""
	return View(memory.New[Info](&info, &behindReader{r: r}, nil)), nil
}

// behindReader owns a tensor that is read when it is used. The offset of a view is that in the
// reader. Of the embedded Failed it has the methods that do nothing.
type behindReader struct {
	memory.Failed[Info]
	r io.ReaderAt
}

// contextReaderAt is a reader whose reads a context can cancel.
type contextReaderAt interface {
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
}

// File implements memory.Owner.
func (o *behindReader) File(info *Info) (pass.File, int64) { return o, info.Offset }

// Memory implements pass.File.
func (*behindReader) Memory() []byte { return nil }

// Mapping implements pass.File.
func (*behindReader) Mapping() pass.Mapping { return nil }

// Kind implements pass.File.
func (*behindReader) Kind() pass.Kind { return pass.Kind{IsReader: true} }

// ReadAtContext implements pass.File.
func (o *behindReader) ReadAtContext(ctx context.Context, p []byte, off int64) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	c, ok := o.r.(contextReaderAt)
	if ok {
		n, err = c.ReadAtContext(ctx, p, off)
	} else {
		n, err = o.r.ReadAt(p, off)
	}
	switch {
	case n >= len(p):
		return len(p), nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w: the reader has %d of %d bytes at %d", ErrTruncated, n, len(p), off)
	}
	return n, err
}

// Load implements memory.Owner. It reads the last byte before it allocates: the size may be that of
// a hostile header.
func (o *behindReader) Load(info *Info) ([]byte, error) {
	if !memory.Addressable(info.Size) {
		return nil, fmt.Errorf("%w: %d bytes are more than this platform can address", ErrLimit, info.Size)
	}
	if info.Size > probeOver {
		var last [1]byte
		if _, err := o.ReadAtContext(context.Background(), last[:], info.Offset+info.Size-1); err != nil {
			return nil, err
		}
	}
	b := memory.Aligned(int(info.Size))
	if _, err := o.ReadAtContext(context.Background(), b, info.Offset); err != nil {
		return nil, err
	}
	return b, nil
}

// Explain implements memory.Owner.
func (*behindReader) Explain(info *Info, err error) error { return (*heap)(nil).Explain(info, err) }

// isBehindReader reports whether o reads tensors of FromReaderAt.
func isBehindReader(o memory.Owner[Info]) bool {
	switch o := o.(type) {
	case *behindReader:
		return true
	case *relabeled:
		return isBehindReader(o.Owner)
	}
	return false
}
