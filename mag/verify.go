package mag

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// page is the distance at which data that no digest covers are touched, to learn
// that they are there: no system has smaller pages.
const page = 4096

// touched keeps the compiler from dropping reads whose values nobody wants.
var touched atomic.Uint32

// Verify checks the checksum of header and records, and the digest of every
// tensor that has one; data without a digest are touched, so that a file that
// was cut short does not pass. Tensors are hashed in parallel. Errors: ErrChecksum,
// ErrTruncated, ErrSignature when a trusted key is given (the format has no
// signatures), ErrCorrupt when a name in WithTensors is no tensor, ErrClosed, and
// that of the context.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) error {
	return f.Region().Locate(f.verify(ctx, format.NewVerifyOptions(opts)))
}

func (f *File) verify(ctx context.Context, o *format.VerifyOptions) error {
	if o.Trusted != nil {
		return wire.Errorf(formatName, "signature", -1, format.ErrSignature, "the format has none")
	}
	which, err := f.Select(o.Tensors)
	if err != nil {
		return err
	}
	if err := f.Enter(); err != nil {
		return err
	}
	defer f.Leave()
	if err := f.Region().Guard(f.verifyStructure); err != nil {
		return err
	}
	total := int64(0)
	for _, i := range which {
		total += f.Info(i).Size
	}
	p := work.NewProgress(o.Progress, total)
	return work.Each(ctx, len(which), o.Workers, func(k int) error {
		return f.Region().Guard(func() error { return f.verifyTensor(ctx, which[k], p) })
	})
}

// verifyStructure checks the checksum in the header.
func (f *File) verifyStructure() error {
	n := f.end
	if f.Snapshot() {
		n -= int64(len(markerBuffer))
	}
	b, err := f.Region().Slice(0, n)
	if err != nil {
		return err
	}
	if f.Snapshot() {
		return checkSnapshot(b)
	}
	_, err = checkV1(b)
	return err
}

// verifyTensor compares the data of tensor i with its digest.
func (f *File) verifyTensor(ctx context.Context, i int, p *work.Progress) error {
	t := f.Info(i)
	if !f.hasDigest(i) {
		return f.touch(t, p)
	}
	sum, err := f.hash(ctx, t, p)
	if err != nil {
		return err
	}
	if sum != f.digests[i] {
		return wire.Errorf(formatName, fmt.Sprintf("tensor %q", t.Name), t.Offset, format.ErrChecksum,
			"data have XXH64 %016x, the file records %016x", sum, f.digests[i])
	}
	return nil
}

// hash returns the XXH64 of a tensor's data. From a reader they are fetched in
// steps, so that no tensor is in memory as a whole.
func (f *File) hash(ctx context.Context, t *tensor.Info, p *work.Progress) (uint64, error) {
	var d xxhash.Digest
	d.Reset()
	r := f.Region()
	if mem := r.Bytes(); mem != nil {
		b := mem[t.Offset : t.Offset+t.Size]
		if len(b) <= work.Step {
			sum := tensor.XXH64(b)
			p.Add(t.Size, t.Name)
			return sum, ctx.Err()
		}
		err := work.Chunks(ctx, b, p, t.Name, func(b []byte) { d.Write(b) })
		return d.Sum64(), err
	}
	for done := int64(0); done < t.Size; {
		n := min(t.Size-done, work.Step)
		b, err := r.Slice(t.Offset+done, n)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, err
		}
		d.Write(b)
		p.Add(n, t.Name)
		done += n
	}
	return d.Sum64(), nil
}

// touch makes sure that a tensor's data exist: every page of a mapping, and the
// last byte behind a reader.
func (f *File) touch(t *tensor.Info, p *work.Progress) error {
	var err error
	if mem := f.Region().Bytes(); mem != nil {
		var x byte
		for at := t.Offset; at < t.Offset+t.Size; at += page {
			x |= mem[at]
		}
		touched.Store(uint32(x | mem[t.Offset+t.Size-1]))
	} else {
		_, err = f.Region().Slice(t.Offset+t.Size-1, 1)
	}
	p.Add(t.Size, t.Name)
	return err
}
