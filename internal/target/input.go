package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

const (
	piece   = 256 << 10  // bytes per read
	large   = 16 * piece // bytes per write of data that is in memory: fewer calls
	overlap = 2 * piece  // from this size, checksum and write run concurrently: 1.6 times as fast (write/mag/100MB)
)

var buffers = sync.Pool{New: func() any { b := make([]byte, piece); return &b }}

// Input is the data of one tensor being written: exactly Size bytes, or an error. It stops when its
// context is canceled.
type Input struct {
	ctx        context.Context
	r          io.Reader
	inMemory   inMemory // what r has in memory, which is not copied
	size, left int64
	name       string
	one        [1]byte

	// Moved, unless it is nil, is called with the number of bytes that were consumed, and the name
	// of the tensor.
	Moved func(n int64, name string)
	// Hash, unless it is nil, gets all data.
	Hash *xxhash.Digest
}

// NewInput returns an Input of size bytes from r.
func NewInput(ctx context.Context, r io.Reader, size int64) *Input {
	in := new(Input)
	in.Reset(ctx, r, "", size)
	return in
}

// Reset makes in the data of another tensor, which is not hashed.
func (in *Input) Reset(ctx context.Context, r io.Reader, name string, size int64) {
	in.ctx = ctx
	in.r = r
	in.name = name
	in.size = size
	in.left = size
	in.inMemory = nil
	in.Hash = nil
	switch r := r.(type) {
	case *bytes.Reader:
		_, _ = r.WriteTo(&in.inMemory)
	case *bytes.Buffer:
		_, _ = r.WriteTo(&in.inMemory)
	}
}

// inMemory is an io.Writer that keeps what a reader of memory writes, all at once.
type inMemory []byte

func (m *inMemory) Write(b []byte) (int, error) {
	*m = b
	return len(b), nil
}

// Size returns the tensor's size in bytes.
func (in *Input) Size() int64 { return in.size }

// Read implements io.Reader: it returns Size bytes, then io.EOF.
func (in *Input) Read(p []byte) (int, error) {
	if in.left == 0 {
		return 0, io.EOF
	}
	b, err := in.next(p, int64(len(p)))
	if in.Hash != nil {
		_, _ = in.Hash.Write(b)
	}
	return copy(p, b), err
}

// next returns the next bytes: at most most of those in memory, or what it reads into buf.
func (in *Input) next(buf []byte, most int64) (p []byte, err error) {
	if err := in.ctx.Err(); err != nil {
		return nil, err
	}
	p = in.inMemory[:min(int64(len(in.inMemory)), in.left, most)]
	in.inMemory = in.inMemory[len(p):]
	if len(p) == 0 {
		p, err = in.read(buf[:min(int64(len(buf)), in.left, piece)])
	}
	in.left -= int64(len(p))
	if in.Moved != nil {
		in.Moved(int64(len(p)), in.name)
	}
	if errors.Is(err, io.EOF) {
		err = nil
		if in.left > 0 {
			err = in.short()
		}
	}
	return p, err
}

// read checks the counts that r returns, and fails if r makes no progress.
func (in *Input) read(p []byte) ([]byte, error) {
	for range 100 {
		n, err := in.r.Read(p)
		if n < 0 || n > len(p) {
			return nil, fmt.Errorf("%w: asked for %d bytes, the reader claims to have read %d", tensor.ErrCorrupt, len(p), n)
		}
		if n > 0 || err != nil || len(p) == 0 {
			return p[:n], err
		}
	}
	return nil, io.ErrNoProgress
}

func (in *Input) short() error {
	return fmt.Errorf("%w: the reader ended after %d of %d bytes", tensor.ErrTruncated, in.size-in.left, in.size)
}

// Each calls f with consecutive pieces. A piece is valid only during the call.
func (in *Input) Each(f func(p []byte) error) error {
	if in.Hash == nil {
		return in.each(piece, f)
	}
	return in.each(piece, func(p []byte) error {
		_, _ = in.Hash.Write(p)
		return f(p)
	})
}

// each is Each with pieces of at most most bytes of data in memory.
func (in *Input) each(most int64, f func(p []byte) error) error {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for in.left > 0 {
		p, err := in.next((*buf)[:piece], most)
		if err == nil {
			err = f(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CopyTo writes the data to t at off and, unless sum is nil, to sum.
func (in *Input) CopyTo(t io.WriterAt, off int64, sum io.Writer) error {
	if in.Hash != nil {
		if sum == nil {
			sum = in.Hash
		} else {
			sum = io.MultiWriter(sum, in.Hash)
		}
	}
	return in.each(large, func(p []byte) error {
		at := off
		off += int64(len(p))
		if sum != nil && len(p) >= overlap {
			return concurrently(t, at, sum, p)
		}
		if sum != nil {
			if _, err := sum.Write(p); err != nil {
				return err
			}
		}
		_, err := t.WriteAt(p, at)
		return err
	})
}

// concurrently writes p while another goroutine adds it to the checksum.
func concurrently(t io.WriterAt, at int64, sum io.Writer, p []byte) error {
	return work.Each(context.Background(), 2, 2, func(i int) (err error) {
		if i == 0 {
			_, err = sum.Write(p)
		} else {
			_, err = t.WriteAt(p, at)
		}
		return err
	})
}

// Finish checks that the encoder consumed all the data and that the reader has no more.
func (in *Input) Finish() error {
	if in.left > 0 {
		return in.short()
	}
	more, err := in.read(in.one[:])
	switch {
	case len(more)+len(in.inMemory) > 0:
		return fmt.Errorf("%w: the reader has more than the %d bytes of the tensor", tensor.ErrShape, in.size)
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}
