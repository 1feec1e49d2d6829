package tensor

import (
	"context"

	"github.com/weightmap/weightmap/internal/memory"
)

// parts reads the bytes of a tensor part by part: from memory, or else from the owner. Pages of a
// mapping are populated just before they are read: see memory.Populate.
type parts struct {
	ctx   context.Context
	owner memory.Owner[Info]
	info  *Info
	// data is nil if the bytes must be read, and pages if they are not in memory of a model.
	data  []byte
	pages memory.Advisor
	// ready is the end of the bytes that were populated or read.
	ready int64
	// step is the number of bytes to decode or copy at a time.
	step int64
	buf  []byte
}

// fewBytes is the size below which populating does not pay for the system call.
const fewBytes = 64 << 10

// inMemory returns the parts of a tensor with the bytes data.
func (v *View) inMemory(ctx context.Context, data []byte) parts {
	pages, _ := v.ref().Owner().(memory.Advisor)
	return parts{ctx: ctx, info: v.ref().Info(), data: data, pages: pages, ready: -fewBytes, step: memory.PopulateStep}
}

// access calls f with the parts of the tensor: those that the owner reads, if copies are read, and else those of the
// loaded bytes.
func (v View) access(ctx context.Context, f func(parts) error) error {
	r := v.ref()
	if r.Info() == nil || !r.Owner().Ranged(r.Info()) {
		return v.Use(func(b []byte) error { return f(v.inMemory(ctx, b)) })
	}
	if err := v.enter(); err != nil {
		return err
	}
	defer r.Owner().Leave()
	p := parts{ctx: ctx, owner: r.Owner(), info: r.Info(), step: readStep}
	if r.Data() != nil {
		p.step = copyStep
		p.pages, _ = r.Owner().(memory.Advisor)
	}
	return v.explain(f(p))
}

// copyStep is the number of bytes to copy out of memory at a time where copies are compared: some pieces that still are in a cache.
const copyStep = 1 << 20

// whole is access for an f that uses all bytes, which are then loaded at once unless they are in memory.
func (v View) whole(f func(parts) error) error {
	if v.ref().Data() != nil {
		return v.access(context.Background(), f)
	}
	return v.Use(func(b []byte) error { return f(v.inMemory(context.Background(), b)) })
}

// bytes returns n bytes at off, which are valid until the next call.
func (p *parts) bytes(off, n int64) ([]byte, error) {
	if p.data == nil {
		if int64(len(p.buf)) < n { // the first part is the largest
			p.buf = make([]byte, n)
		}
		return p.buf[:n], p.read(p.buf[:n], off)
	}
	p.need(off, n)
	return p.data[off : off+n], nil
}

// copy copies the bytes at off to dst.
func (p *parts) copy(dst []byte, off int64) error {
	for len(dst) > 0 {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		n := min(int64(len(dst)), p.step)
		if err := p.read(dst[:n], off); err != nil {
			return err
		}
		dst, off = dst[n:], off+n
	}
	return nil
}

// read is copy for at most a step.
func (p *parts) read(dst []byte, off int64) error {
	if p.data == nil {
		return p.owner.ReadAt(p.ctx, p.info, dst, off)
	}
	p.need(off, int64(len(dst)))
	copy(dst, p.data[off:])
	return nil
}

// need prepares for a read of n bytes at off. Consecutive small reads are populated together; for scattered
// ones, page faults are cheaper.
func (p *parts) need(off, n int64) {
	end := off + n
	switch {
	case p.pages == nil || end <= p.ready:
		return
	case n < fewBytes && off-p.ready >= fewBytes:
		p.ready = end
		return
	case n < fewBytes:
		end = min(off+memory.PopulateStep, int64(len(p.data)))
	}
	_, _ = p.pages.Advise(memory.Populate, p.data[off:end])
	p.ready = end
}
