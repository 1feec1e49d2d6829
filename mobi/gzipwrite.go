package mobi

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec/gzip"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/wire"
)

// packer writes a file with compressed constants. Which of them shrink decides
// where all of them go, so the data waits in a spool until the last is known.
type packer struct {
	*document
	target driver.Target
	level  int
	spool  driver.Target
	remove func()
	end    int64    // of what is in use of the spool
	kept   []stored // by plan index
	at     []int64  // by plan index: offset in the spool
}

// newPacker starts a spool where the caller wants it.
func newPacker(t driver.Target, d *document, o *WriteOptions) (*packer, error) {
	p := &packer{document: d, target: t, level: o.Gzip, remove: func() {}, kept: make([]stored, len(d.tensors)), at: make([]int64, len(d.tensors))}
	if _, err := p.compressor(io.Discard, 0); err != nil {
		return nil, planError("compression level", err)
	}
	switch o.Spool {
	case format.SpoolNever:
		return nil, planError("compression", fmt.Errorf("%w: compressed constants need a spool", format.ErrUnsupported))
	case format.SpoolMemory:
		p.spool = &sink.Memory{}
	default:
		s, err := sink.NewSpool()
		if err != nil {
			return nil, err
		}
		p.spool, p.remove = s, s.Remove
	}
	return p, nil
}

func (p *packer) compressor(w io.Writer, size int64) (io.WriteCloser, error) {
	return gzip.Codec.NewWriter(w, p.level, size)
}

// Tensor spools constant i as it is and, behind it, compressed; the smaller of
// the two stays.
func (p *packer) Tensor(i int, in driver.Input) error {
	plain := p.end
	packed := &appender{t: p.spool, off: plain + in.Size(), left: in.Size() - 1}
	z, err := p.compressor(packed, in.Size())
	if err != nil {
		return err
	}
	off := plain
	err = in.Each(func(b []byte) error {
		if _, err := z.Write(b); err != nil {
			return err
		}
		n, err := p.spool.WriteAt(b, off)
		off += int64(n)
		return err
	})
	if err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	p.kept[i], p.at[i], p.end = stored{size: in.Size()}, plain, plain+in.Size()
	if packed.left >= 0 {
		size := packed.off - p.end
		p.kept[i], p.at[i], p.end = stored{size: size, gzip: true}, p.end, packed.off
	}
	return nil
}

// appender appends to a target as long as there is room; what comes after is
// dropped and leaves left negative.
type appender struct {
	t    io.WriterAt
	off  int64
	left int64
}

func (a *appender) Write(p []byte) (int, error) {
	if a.left -= int64(len(p)); a.left < 0 {
		return len(p), nil
	}
	n, err := a.t.WriteAt(p, a.off)
	a.off += int64(n)
	return n, err
}

// Finish computes the layout and copies the constants to where they belong.
func (p *packer) Finish() error {
	l, err := p.layout(p.kept)
	if err != nil {
		return err
	}
	if err := l.begin(p.target); err != nil {
		return err
	}
	sums := make([]uint32, len(p.kept))
	for i, n := range l.order {
		if sums[n], err = p.move(n, l.at[i]); err != nil {
			return err
		}
	}
	return l.finish(p.target, sums)
}

// move copies constant n from the spool to its record at off and returns the
// record's sum.
func (p *packer) move(n int, off int64) (uint32, error) {
	kept := p.kept[n]
	var b wire.Buffer
	p.recordHead(&b, n, kept.size, kept.gzip)
	head := b.Bytes()
	sum := &summer{kind: p.footer, sum: p.footer.update(p.footer.empty(), head)}
	if _, err := p.target.WriteAt(head, off); err != nil {
		return 0, err
	}
	to := io.MultiWriter(sum, io.NewOffsetWriter(p.target, off+int64(len(head))))
	_, err := io.Copy(to, io.NewSectionReader(p.spool, p.at[n], kept.size))
	return sum.sum, err
}

// Close removes the spool.
func (p *packer) Close() error {
	p.remove()
	return nil
}
