package save

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

const (
	piece   = 256 << 10  // bytes per read
	large   = 16 * piece // bytes per write of data that is in memory: fewer calls
	overlap = piece / 2  // from this size, checksum and write run concurrently: 1.6 times as fast (write/mag/100MB)
)

var buffers = sync.Pool{New: func() any { b := make([]byte, piece); return &b }}

// Input is the data of one tensor being written: exactly Size bytes, or an error. It stops when its
// context is canceled.
type Input struct {
	ctx        context.Context
	r          io.Reader
	size, left int64
	moved      func(n int) // reports progress

	// Variables of Each, CopyTo and Finish, which would take memory for each tensor.
	most  int
	f     func(p []byte) error
	store func(p []byte) error // copyPiece
	to    io.OffsetWriter
	sum   io.Writer
	one   [1]byte
}

// NewInput returns an Input of size bytes from r. moved may be nil.
func NewInput(ctx context.Context, r io.Reader, size int64, moved func(n int)) *Input {
	if moved == nil {
		moved = func(int) {}
	}
	in := &Input{ctx: ctx, r: r, size: size, left: size, moved: moved}
	in.store = in.copyPiece
	return in
}

// reset points the Input at other data.
func (in *Input) reset(r io.Reader, size int64) { in.r, in.size, in.left = r, size, size }

// Size returns the tensor's size in bytes.
func (in *Input) Size() int64 { return in.size }

// Read implements io.Reader: it returns Size bytes, then io.EOF.
func (in *Input) Read(p []byte) (int, error) {
	if in.left == 0 {
		return 0, io.EOF
	}
	if err := in.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := in.read(p[:min(int64(len(p)), in.left, piece)])
	in.took(n)
	if errors.Is(err, io.EOF) {
		err = nil
		if in.left > 0 {
			err = in.short()
		}
	}
	return n, err
}

func (in *Input) took(n int) {
	in.left -= int64(n)
	in.moved(n)
}

// read checks the counts that r returns, and fails if r makes no progress.
func (in *Input) read(p []byte) (n int, err error) {
	for range 100 {
		if n, err = in.r.Read(p); n < 0 || n > len(p) {
			return 0, fmt.Errorf("%w: asked for %d bytes, the reader claims to have read %d", tensor.ErrCorrupt, len(p), n)
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

func (in *Input) short() error {
	return fmt.Errorf("%w: the reader ended after %d of %d bytes", tensor.ErrTruncated, in.size-in.left, in.size)
}

func (in *Input) long() error {
	return fmt.Errorf("%w: the reader has more than the %d bytes of the tensor", tensor.ErrShape, in.size)
}

// Each calls f with consecutive pieces. A piece is valid only during the call. Data that r has in
// memory, such as that of a bytes.Reader, is not copied.
func (in *Input) Each(f func(p []byte) error) error { return in.each(piece, f) }

// each is Each with pieces of at most most bytes.
func (in *Input) each(most int, f func(p []byte) error) error {
	if r, ok := in.r.(inMemory); ok && in.left == in.size {
		in.most, in.f = most, f
		_, err := r.WriteTo((*pieces)(in))
		if err == nil && in.left > 0 {
			err = in.short()
		}
		return err
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for in.left > 0 {
		p := (*buf)[:min(piece, in.left)]
		if _, err := io.ReadFull(in, p); err != nil {
			return err
		}
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}

// inMemory is implemented by bytes.Reader, bytes.Buffer and strings.Reader, which write all at once.
type inMemory interface {
	io.WriterTo
	Len() int
}

// pieces is the io.Writer for inMemory.
type pieces Input

func (p *pieces) Write(b []byte) (n int, err error) {
	in := (*Input)(p)
	if int64(len(b)) > in.left {
		return 0, in.long()
	}
	for part := range slices.Chunk(b, in.most) {
		if err := in.ctx.Err(); err != nil {
			return n, err
		}
		if err := in.f(part); err != nil {
			return n, err
		}
		n += len(part)
		in.took(len(part))
	}
	return n, nil
}

// CopyTo writes the data to t at off and, unless sum is nil, to sum.
func (in *Input) CopyTo(t io.WriterAt, off int64, sum io.Writer) error {
	in.to, in.sum = *io.NewOffsetWriter(t, off), sum
	return in.each(large, in.store)
}

func (in *Input) copyPiece(p []byte) error {
	switch {
	case in.sum == nil:
		return writeAll(&in.to, p)
	case len(p) < overlap:
		return cmp.Or(writeAll(in.sum, p), writeAll(&in.to, p))
	}
	return in.concurrently(p)
}

// concurrently writes p while another goroutine adds it to the checksum.
func (in *Input) concurrently(p []byte) (err error) {
	added := make(chan error, 1)
	go work.Catch(func() error {
		debug.SetPanicOnFault(true)
		return writeAll(in.sum, p)
	}, func(err error) { added <- err })
	defer func() { err = cmp.Or(work.Rethrow(<-added), err) }()
	return writeAll(&in.to, p)
}

func writeAll(w io.Writer, p []byte) error {
	_, err := w.Write(p)
	return err
}

// Finish checks that the encoder consumed all the data and that the reader has no more.
func (in *Input) Finish() error {
	if in.left > 0 {
		return in.short()
	}
	n, err := in.read(in.one[:])
	if n > 0 {
		return in.long()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
