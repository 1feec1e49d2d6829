package save

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/weightmap/weightmap/tensor"
)

// piece is how much is hashed and written at a time: small enough that what
// was hashed is still in the cache when it is written.
const piece = 256 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, piece); return &b }}

// Input is the data of one tensor on their way into a file: exactly Size
// bytes, or an error. It stops when its context is canceled.
type Input struct {
	ctx   context.Context
	r     io.Reader
	size  int64
	left  int64
	moved func(n int) // told of progress
	one   [1]byte     // for Finish

	// Of Each and CopyTo, here so that no tensor takes an allocation.
	most  int                  // bytes of a piece
	f     func(p []byte) error // takes the pieces
	store func(p []byte) error // copyPiece
	to    io.WriterAt
	off   int64
	sum   io.Writer
}

// NewInput takes size bytes from r. moved may be nil.
func NewInput(ctx context.Context, r io.Reader, size int64, moved func(n int)) *Input {
	if moved == nil {
		moved = func(int) {}
	}
	in := &Input{ctx: ctx, r: r, size: size, left: size, moved: moved}
	in.store = in.copyPiece
	return in
}

// reset makes the Input one of other data.
func (in *Input) reset(r io.Reader, size int64) { in.r, in.size, in.left = r, size, size }

// Size returns the number of bytes the tensor has.
func (in *Input) Size() int64 { return in.size }

// Read implements io.Reader: Size bytes, then io.EOF.
func (in *Input) Read(p []byte) (int, error) {
	if in.left == 0 {
		return 0, io.EOF
	}
	if err := in.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := in.read(p[:min(int64(len(p)), in.left, piece)])
	in.left -= int64(n)
	in.moved(n)
	if errors.Is(err, io.EOF) {
		err = nil
		if in.left > 0 {
			err = in.short()
		}
	}
	return n, err
}

// read does not trust the reader's answer, and has it make progress or fail.
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

// Each calls f with one piece after the other. A piece is only valid during
// the call. Readers that hold their bytes in memory (bytes.Reader,
// bytes.Buffer, strings.Reader) are not copied from.
func (in *Input) Each(f func(p []byte) error) error { return in.each(piece, f) }

// each is Each with pieces of up to most bytes.
func (in *Input) each(most int, f func(p []byte) error) error {
	in.most, in.f = most, f
	var m io.WriterTo
	have := 0
	switch r := in.r.(type) {
	case *bytes.Reader:
		m, have = r, r.Len()
	case *bytes.Buffer:
		m, have = r, r.Len()
	case *strings.Reader:
		m, have = r, r.Len()
	}
	if m != nil && in.left == in.size {
		if int64(have) > in.size {
			return in.long()
		}
		_, err := m.WriteTo((*pieces)(in))
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

// pieces is the io.Writer that readers in memory write themselves to.
type pieces Input

func (in *pieces) Write(p []byte) (n int, err error) {
	for part := range slices.Chunk(p, in.most) {
		if err := in.ctx.Err(); err != nil {
			return n, err
		}
		if err := in.f(part); err != nil {
			return n, err
		}
		n += len(part)
		in.left -= int64(len(part))
		in.moved(len(part))
	}
	return n, nil
}

// CopyTo writes the data at off and feeds them to sum, which may be nil.
func (in *Input) CopyTo(t io.WriterAt, off int64, sum io.Writer) error {
	in.to, in.off, in.sum = t, off, sum
	if sum == nil {
		return in.each(16*piece, in.store) // few large writes take less time
	}
	return in.each(piece, in.store)
}

func (in *Input) copyPiece(p []byte) error {
	if in.sum != nil {
		if _, err := in.sum.Write(p); err != nil {
			return err
		}
	}
	n, err := in.to.WriteAt(p, in.off)
	in.off += int64(n)
	return err
}

// Finish checks that the format took all the data and that no more follow.
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
