package load

import (
	"cmp"
	"context"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// LoadAll reads tensors and parts of tensors into the memory of their requests. It reads in file
// order, on several goroutines.
func (m *Model) LoadAll(ctx context.Context, requests []Request, progress driver.Progress) error {
	if err := m.main.Enter(); err != nil {
		return err
	}
	defer m.main.Leave()
	v := newVerification(m, ctx, &VerifyOptions{Progress: progress, Workers: m.workers})
	v.sweeper.off = m.infos.blocks.Load() != nil
	b := bulk{verification: v}
	defer b.close()
	chunks, err := b.plan(requests)
	if err == nil {
		jobs := jobsOf(chunks)
		err = v.Each(len(jobs), func(i int) error { return b.run(jobs[i]) })
	}
	return explain(err, m.desc.Name, m.path)
}

// bulk is a call of LoadAll. It uses the workers and guards of a verification.
type bulk struct {
	*verification
	files map[*source.Region]*source.File // the reopened files
}

// reopenOver is the number of bytes to read from which reopening a mapped file pays.
const reopenOver = 1 << 20

// plan returns the chunks of all requests, in the order of the files.
func (b *bulk) plan(requests []Request) (chunks []chunk, err error) {
	targets, read := make([]*target, len(requests)), make(map[*source.Region]int64)
	b.o.Workers = b.workers()
	total := int64(0)
	for k := range requests {
		t, err := b.m.target(&requests[k])
		if err != nil {
			return nil, err
		}
		targets[k] = t
		total += t.bytes
		b.o.Workers = max(b.o.Workers, t.region.Parallel())
		if t.resident() {
			b.sweeper.off = true
		} else if !t.whole {
			read[t.region] += t.bytes
		}
	}
	b.Expect(total)
	b.reopen(read)
	for _, t := range targets {
		if !t.resident() && !t.whole {
			t.file = b.files[t.region]
		}
		chunks = t.cut(chunks)
	}
	slices.SortFunc(chunks, func(x, y chunk) int {
		return cmp.Or(cmp.Compare(x.t.space, y.t.space), cmp.Compare(x.at, y.at))
	})
	return chunks, nil
}

// reopen opens the files of which enough is read.
func (b *bulk) reopen(read map[*source.Region]int64) {
	b.files = make(map[*source.Region]*source.File)
	for r, n := range read {
		if n < reopenOver || len(b.files) == mostReopened {
			continue
		}
		if f, err := r.Reopen(); err == nil { // otherwise read the mapping
			b.files[r] = f
		}
	}
}

// mostReopened is the maximum number of descriptors to use for a model of many files.
const mostReopened = 64

func (b *bulk) close() {
	for _, f := range b.files {
		f.Close()
	}
}

// jobsOf groups chunks that are close to each other; a reader gets one request for them.
func jobsOf(chunks []chunk) (jobs [][]chunk) {
	for from := 0; from < len(chunks); {
		p, to := &chunks[from], from+1
		end := p.at + p.size
		for ; to < len(chunks) && !p.t.whole && !chunks[to].t.whole && chunks[to].t.region == p.t.region && chunks[to].t.file == p.t.file; to++ {
			q := &chunks[to]
			if q.at > end+maxGap || max(end, q.at+q.size)-p.at > chunkSize {
				break
			}
			end = max(end, q.at+q.size)
		}
		jobs = append(jobs, chunks[from:to])
		from = to
	}
	return jobs
}

// run reads the chunks of a job.
func (b *bulk) run(job []chunk) error {
	p := &job[0]
	r, off, end := p.t.region, p.at, p.at
	for i := range job {
		end = max(end, job[i].at+job[i].size)
	}
	var window *fetched
	switch isRange := len(job) == 1 && p.t.Floats == nil && !p.hasGaps(); {
	case p.t.whole:
	case !p.t.fetches():
		if len(job) > 1 {
			r.Populate(off, end-off)
		}
	case !isRange:
		buf := buffer(end - off)
		defer steps.Put(buf)
		window = &fetched{off: off, b: (*buf)[:end-off]}
		if err := b.fetch(window.b, off, p.t); err != nil {
			return b.m.named(b.m.locate(err), p.t.Tensor)
		}
	}
	for i := range job {
		p := &job[i]
		err := b.ctx.Err()
		if err == nil {
			err = b.read(p, window)
		}
		if err != nil {
			return b.m.named(err, p.t.Tensor)
		}
	}
	if !p.t.whole && !p.t.fetches() {
		b.used(r, off, end-off)
	}
	return nil
}

// read reads a chunk, from window if that is not nil.
func (b *bulk) read(p *chunk, window *fetched) error {
	t := p.t
	if !t.hashed && b.m.touch.pending.Load() {
		if err := b.m.touch.check(t.Tensor); err != nil {
			return err
		}
	}
	if !t.whole && !p.hasGaps() && t.Floats == nil {
		return b.readRange(p, window)
	}
	var err error
	switch {
	case window == nil:
		err = b.readView(p, t.view)
	case t.Floats != nil && !p.hasGaps() && t.info.Quant == nil:
		err = window.decode(p)
	default:
		err = b.readView(p, window.view(t))
	}
	if err == nil {
		b.Done(p.n*t.unit.bytes, t.Tensor)
	}
	return err
}

// readView reads a chunk through a view of its tensor.
func (b *bulk) readView(p *chunk, v tensor.View) (err error) {
	t := p.t
	if t.whole && b.m.index.Loaded(t.i) && !t.resident() {
		if v, err = b.decoded(t); err != nil {
			return err
		}
	}
	sel := t.Slice
	if p.hasGaps() {
		sel = p.box()
	}
	first := p.first * t.unit.elems
	switch {
	case t.resident():
		return v.Use(func([]byte) error { return nil })
	case t.Floats != nil && !t.whole && !p.hasGaps():
		at := (p.at - t.off) / t.unit.bytes * t.unit.elems
		return tensor.DecodeAt(t.Floats[first:min(first+p.n*t.unit.elems, t.elems)], v, at)
	}
	if len(sel) > 0 {
		if v, err = v.Slice(sel...); err != nil {
			return err
		}
	}
	if t.Floats != nil {
		_, err = tensor.Decode(t.Floats[first:first:min(first+v.Len(), t.elems)], v)
		return err
	}
	_, err = v.ReadIntoContext(b.ctx, t.Bytes[p.first*t.unit.bytes:])
	return err
}

// decoded returns a tensor that the driver loads; the model does not cache it.
func (b *bulk) decoded(t *target) (tensor.View, error) {
	data, err := b.m.kept.get(b.m, t.i, false, func() ([]byte, error) { return b.m.decode(t.i) })
	if err != nil {
		return t.view, err
	}
	return tensor.FromInfo(*t.info, data)
}

// readRange reads a chunk without gaps whose bytes need no conversion, to memory or only to
// hash them.
func (b *bulk) readRange(p *chunk, window *fetched) error {
	t := p.t
	step, want := int64(chunkSize), driver.Sum{}
	if t.hashed {
		want = b.sum(t.i)
	}
	if t.region.InMemory() && (t.hashed || t.file == nil) {
		step = memory.PopulateStep // fits in a cache
	}
	sum := checksum.New(want.Kind)
	for done := int64(0); done < p.size; {
		n, at := min(step, p.size-done), p.at+done
		if err := b.ctx.Err(); err != nil {
			return err
		}
		if t.resident() {
			t.region.Populate(at, n)
			probe(t.region.Bytes()[at : at+n])
		} else {
			dst := t.Bytes[p.first*t.unit.bytes+done:][:n]
			if window != nil {
				copy(dst, window.b[at-window.off:])
			} else if err := b.fetch(dst, at, t); err != nil {
				return err
			}
			_, _ = sum.Write(dst) // does nothing unless the tensor is hashed
		}
		b.Done(n, t.Tensor)
		done += n
	}
	if !t.hashed {
		return nil
	}
	if err := b.compare(t.i, want, sum.Sum64(), t.off); err != nil {
		return err
	}
	b.m.touch.passed(b.m.touch.of(t.i))
	return nil
}

// fetch reads a range of a target's file.
func (b *bulk) fetch(dst []byte, at int64, t *target) (err error) {
	if t.file != nil {
		_, err = t.file.ReadAt(dst, at)
	} else {
		_, err = t.region.ReadAtContext(b.ctx, dst, at)
	}
	return err
}

// fetched is a range of a file that was read. It is the owner of temporary views of the tensors in it.
type fetched struct {
	memory.Owner[tensor.Info]
	off int64
	b   []byte
}

// view returns a view of a tensor, of which only the bytes in the window may be used.
func (f *fetched) view(t *target) tensor.View {
	f.Owner = (*memory.Ref[tensor.Info])(&t.view).Owner()
	return tensor.View(memory.New(t.info, memory.Owner[tensor.Info](f), nil))
}

// decode decodes a chunk without gaps whose elements do not depend on their position in the tensor.
func (f *fetched) decode(p *chunk) error {
	first := p.first * p.t.unit.elems
	dst := p.t.Floats[first:min(first+p.n*p.t.unit.elems, p.t.elems)]
	info := tensor.Info{Name: p.t.Tensor, DType: p.t.info.DType, Encoding: p.t.info.Encoding, Shape: tensor.Shape{int64(len(dst))}}
	v, err := tensor.FromInfo(info, f.b[p.at-f.off:][:p.size])
	if err == nil {
		_, err = tensor.Decode(dst[:0:len(dst)], v)
	}
	return err
}

// Ranged implements memory.Owner.
func (*fetched) Ranged(*tensor.Info) bool { return true }

// ReadAt implements memory.Owner.
func (f *fetched) ReadAt(_ context.Context, info *tensor.Info, p []byte, off int64) error {
	copy(p, f.b[info.Offset+off-f.off:])
	return nil
}
