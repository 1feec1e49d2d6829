package zip

import (
	"fmt"
	"io"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/deflate"
)

// Streamer returns the function for driver.Parsed.Stream, nil if no entry is deflated. It writes what Load returns. The
// tensor of a deflated entry is inflated piece by piece, if the entry has its elements as they are.
func (t *Tensors) Streamer() func(i int, w io.Writer) error {
	if !slices.ContainsFunc(t.Stores, func(e Entry) bool { return e.Packed }) {
		return nil
	}
	return func(i int, w io.Writer) error { return t.located(i, t.stream(i, w)) }
}

func (t *Tensors) stream(i int, w io.Writer) error {
	p, size := &t.Places[i], t.Index.Size(i)
	s := &t.Stores[p.Store]
	if s.Packed && p.Stride == nil && p.Swap == 0 && p.Text == nil && p.Extent == size {
		return s.inflateTo(w, p, t.Checks, t.Memory)
	}
	if err := t.Memory.Reserve(size); err != nil {
		return err
	}
	defer t.Memory.Release(size)
	b, err := t.load(i)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// inflateTo writes a range of the content, and compares the checksum of the content if that is asked for.
func (e *Entry) inflateTo(w io.Writer, p *Place, checks bool, m *driver.Memory) error {
	b, err := e.Src.Slice(e.At, e.Stored)
	if err != nil {
		return err
	}
	part := &section{w: w, skip: p.From, left: p.Extent}
	if !checks {
		return codec.DataTo(part, deflate.Codec, b, e.Size, m)
	}
	if e.Sum != e.LocalSum {
		return e.differ()
	}
	sum := checksum.New(driver.CRC32)
	if err := codec.DataTo(io.MultiWriter(part, &sum), deflate.Codec, b, e.Size, m); err != nil {
		return err
	}
	if got := uint32(sum.Sum64()); got != e.Sum {
		return fmt.Errorf("%w: the archive records crc32 %08x for the entry, which has %08x", driver.ErrChecksum, e.Sum, got)
	}
	return nil
}

// section writes a range of what is written to it to w.
type section struct {
	w          io.Writer
	skip, left int64
}

// Write implements io.Writer.
func (s *section) Write(b []byte) (int, error) {
	skip := min(s.skip, int64(len(b)))
	n := min(s.left, int64(len(b))-skip)
	s.skip -= skip
	s.left -= n
	if n > 0 {
		if _, err := s.w.Write(b[skip:][:n]); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}
