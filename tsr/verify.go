package tsr

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// Verify checks the headers again and reads all data, several files of a
// directory at a time. The format carries no checksums: only headers that were
// changed and files that were cut short since they were opened are found. A
// trusted key fails with ErrSignature, a name in WithTensors that is no tensor
// with ErrCorrupt.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) error {
	o := format.NewVerifyOptions(opts)
	if err := f.Enter(); err != nil {
		return err
	}
	defer f.Leave()
	if o.Trusted != nil {
		return f.fail("signature", format.ErrSignature, "the format has no signatures")
	}
	chosen, total, err := f.choose(o.Tensors)
	if err != nil {
		return err
	}
	progress := work.NewProgress(o.Progress, total)
	return work.Each(ctx, len(chosen), o.Workers, func(n int) error {
		i := chosen[n]
		r := f.Region()
		if f.parts != nil {
			r = f.parts[i].file
		}
		return check(ctx, r, f.Info(i), progress)
	})
}

// choose returns the tensors to verify, in file order, and their bytes.
func (f *File) choose(names []string) (chosen []int, total int64, err error) {
	chosen, err = f.Select(names)
	for _, i := range chosen {
		total += f.Info(i).Size
	}
	return chosen, total, f.Region().Locate(err)
}

func (f *File) fail(field string, sentinel error, text string) error {
	_, path := f.Region().Origin()
	return inFile(wire.Errorf(name, field, -1, sentinel, "%s", text), path, "")
}

// check parses the header again and reads the data step by step.
func check(ctx context.Context, r *mapped.Region, info *tensor.Info, p *work.Progress) error {
	err := r.Guard(func() error {
		h, err := readHeader(r)
		if err != nil {
			return err
		}
		if h.dtype != info.DType || !h.shape().Equal(info.Shape) {
			return wire.Errorf(name, "header", 0, format.ErrCorrupt, "changed since the file was opened")
		}
		for off, end := int64(headerSize), r.Size(); off < end; off += work.Step {
			b, err := r.Slice(off, min(work.Step, end-off))
			if err != nil {
				return err
			}
			if err := work.Chunks(ctx, b, p, info.Name, func(b []byte) { touch(b) }); err != nil {
				return err
			}
		}
		return nil
	})
	_, path := r.Origin()
	return inFile(err, path, fmt.Sprintf("tensor %q", info.Name))
}

// touch reads all bytes of b. What it makes of them has nothing to be compared
// with; it is returned, by a function that is not inlined, so that the compiler
// cannot leave the reading out.
//
//go:noinline
func touch(b []byte) (x uint64) {
	for ; len(b) >= 32; b = b[32:] {
		x ^= binary.LittleEndian.Uint64(b) ^ binary.LittleEndian.Uint64(b[8:]) ^
			binary.LittleEndian.Uint64(b[16:]) ^ binary.LittleEndian.Uint64(b[24:])
	}
	for _, c := range b {
		x ^= uint64(c)
	}
	return x
}
