package mobi

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
)

// parallelFrom is the part of a file that is worth a goroutine of its own.
const parallelFrom = 4 << 20

// judge checks the footer for the first use of a constant. What could not be
// read is no verdict.
func (f *File) judge() (verdict, err error) {
	err = f.Region().Guard(func() error { return f.checkFooter(context.Background(), 0, nil) })
	if errors.Is(err, format.ErrChecksum) {
		return err, nil
	}
	return nil, err
}

// checkFooter checks the footer and remembers which sum it is.
func (f *File) checkFooter(ctx context.Context, workers int, p *work.Progress) error {
	kind, err := checkFooter(ctx, f.Region(), workers, p)
	if err == nil {
		f.footer.Store(int32(kind) + 1)
	}
	return err
}

// checkFooter compares the footer of the file in r with the sum of all bytes
// before it and says which sum it is: Adler-32, or if not that CRC-32. The
// caller has checked that there is a footer.
func checkFooter(ctx context.Context, r *mapped.Region, workers int, p *work.Progress) (Footer, error) {
	end := r.Size() - footerSize
	b, err := r.Slice(end, footerSize)
	if err != nil {
		return 0, err
	}
	stored := binary.LittleEndian.Uint32(b)
	var sums [2]uint32
	for _, kind := range []Footer{Adler32, CRC32} {
		if sums[kind], err = sumRegion(ctx, r, kind, end, workers, p); err != nil {
			return 0, err
		}
		if sums[kind] == stored {
			return kind, nil
		}
		p = nil // the bytes are counted once
	}
	return 0, wire.Errorf(name, "footer", end, format.ErrChecksum, "stored %08x, computed Adler-32 %08x, CRC-32 %08x", stored, sums[Adler32], sums[CRC32])
}

// sumRegion returns the sum of the first n bytes, taken in parts by several
// goroutines.
func sumRegion(ctx context.Context, r *mapped.Region, kind Footer, n int64, workers int, p *work.Progress) (uint32, error) {
	parts := int(max(1, n/parallelFrom))
	sums := make([]uint32, parts)
	bound := func(i int) int64 { return n * int64(i) / int64(parts) }
	err := work.Each(ctx, parts, workers, func(i int) (err error) {
		sums[i], err = sumPart(ctx, r, kind, bound(i), bound(i+1), p)
		return err
	})
	if err != nil {
		return 0, err
	}
	sum := kind.empty()
	for i, s := range sums {
		sum = kind.combine(sum, s, bound(i+1)-bound(i))
	}
	return sum, nil
}

// sumPart returns the sum of the bytes from off to end. Each goroutine needs
// the guard against truncated files for itself.
func sumPart(ctx context.Context, r *mapped.Region, kind Footer, off, end int64, p *work.Progress) (uint32, error) {
	sum := kind.empty()
	err := r.Guard(func() error {
		for ; off < end; off += work.Step {
			b, err := r.Slice(off, min(work.Step, end-off))
			if err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			sum = kind.update(sum, b)
			p.Add(int64(len(b)), "")
		}
		return nil
	})
	return sum, err
}
