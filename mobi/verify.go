package mobi

import (
	"context"
	"errors"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
)

// Verify checks the header checksum and the footer, reads the structure again,
// and decompresses every compressed constant. The footer covers the whole file,
// so WithTensors only limits what is decompressed. A trusted key fails with
// ErrSignature: the format has no signatures. A name in WithTensors that is no
// constant fails with ErrCorrupt.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) error {
	o := format.NewVerifyOptions(opts)
	// The region's own Enter: the catalog's is for data, and checks the footer
	// first.
	if err := f.Region().Enter(); err != nil {
		return err
	}
	defer f.Region().Leave()
	if o.Trusted != nil {
		return f.Region().Locate(wire.Errorf(name, "signature", -1, format.ErrSignature, "the format has no signatures"))
	}
	chosen, err := f.choose(o.Tensors)
	if err != nil {
		return f.Region().Locate(err)
	}
	r := f.Region()
	total := r.Size() - footerSize
	for _, i := range chosen {
		total += int64(f.records[i].stored)
	}
	progress := work.NewProgress(o.Progress, total)
	err = r.Guard(func() error {
		err := f.checkFooter(ctx, o.Workers, progress)
		if err == nil || errors.Is(err, format.ErrChecksum) {
			f.Decide(r.Locate(err))
		}
		if err != nil {
			return err
		}
		again := f.opts
		again.Check = format.CheckStructure
		if _, err := readHeader(r, true); err != nil {
			return err
		}
		_, err = parse(r, &again)
		return err
	})
	if err == nil {
		err = f.inflateAll(ctx, chosen, o.Workers, progress)
	}
	return f.Region().Locate(err)
}

// choose returns the compressed constants among names, or of the whole file,
// in file order.
func (f *File) choose(names []string) ([]int, error) {
	chosen, err := f.Select(names)
	return slices.DeleteFunc(chosen, func(i int) bool { return !f.records[i].gzip }), err
}

// inflateAll decompresses constants and keeps none of them.
func (f *File) inflateAll(ctx context.Context, chosen []int, workers int, p *work.Progress) error {
	return work.Each(ctx, len(chosen), workers, func(n int) error {
		i := chosen[n]
		return f.Region().Guard(func() error {
			_, err := f.inflate(i)
			p.Add(int64(f.records[i].stored), f.Info(i).Name)
			return err
		})
	})
}
