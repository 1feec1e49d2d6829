package zip

import (
	"fmt"
	"io"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/deflate"
	"github.com/weightmap/weightmap/tensor"
)

// Streamer returns the function for driver.Parsed.Stream, nil if no entry is deflated. It writes
// what Load returns. The tensor of a deflated entry is inflated piece by piece, if the entry has
// its elements as they are.
func (t *Tensors) Streamer() func(i int, w io.Writer) error {
	if !slices.ContainsFunc(t.Stores, func(e Entry) bool { return e.Packed }) {
		return nil
	}
	return func(i int, w io.Writer) error { return t.located(i, t.stream(i, w)) }
}

func (t *Tensors) stream(i int, w io.Writer) error {
	p := &t.Places[i]
	size := t.Index.Size(i)
	s := &t.Stores[p.Store]
	if s.Packed && p.Stride == nil && p.Swap == 0 && p.Text == nil && p.Extent == size {
		return s.inflateTo(w, p, t.Checks, t.Memory)
	}
	err := t.Memory.Reserve(size)
	if err != nil {
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

// inflateTo writes a range of the content, and compares the checksum of the content if checks is
// set.
func (e *Entry) inflateTo(w io.Writer, p *Place, checks bool, m *driver.Memory) error {
	b, err := e.Src.Slice(e.At, e.Stored)
	if err != nil {
		return err
	}
	part := &codec.RangeWriter{W: w, Skip: p.From, Left: p.Extent}
	if !checks {
		return codec.DataTo(part, deflate.Codec, b, e.Size, m)
	}
	if e.Sum != e.LocalSum {
		return e.differ()
	}
	sum := checksum.New(driver.CRC32)
	err = codec.DataTo(io.MultiWriter(part, &sum), deflate.Codec, b, e.Size, m)
	if err != nil {
		return err
	}
	got := uint32(sum.Sum64())
	if got != e.Sum {
		return fmt.Errorf("%w: the archive records crc32 %08x for the entry, which has %08x",
			tensor.ErrChecksum, e.Sum, got)
	}
	return nil
}
