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
	t := job[0].t
	if t.whole {
		return b.m.named(b.readWhole(t), t.Tensor)
	}
	off, end := job[0].at, job[0].at
	for i := range job {
		end = max(end, job[i].at+job[i].size)
	}
	var window []byte // bytes off to end; nil to read a chunk directly to its place
	switch isDirect := len(job) == 1 && job[0].isDirect(); {
	case isDirect:
	case t.fetches():
		buf := buffer(end - off)
		defer steps.Put(buf)
		window = (*buf)[:end-off]
		if err := b.fetch(window, off, t); err != nil {
			return b.m.named(b.m.locate(err), t.Tensor)
		}
	default:
		t.region.Populate(off, end-off)
		window = t.region.Bytes()[off:end]
	}
	for i := range job {
		if err := b.read(&job[i], window, off); err != nil {
			return b.m.named(err, job[i].t.Tensor)
		}
	}
	if !t.fetches() {
		b.used(t.region, off, end-off)
	}
	return nil
}

// read reads a chunk, from window if that is not nil: the bytes of the file from off on.
func (b *bulk) read(p *chunk, window []byte, off int64) error {
	t := p.t
	if err := b.ready(t); err != nil {
		return err
	}
	if window != nil {
		window = window[p.at-off:][:p.size]
	}
	switch {
	case p.isDirect():
		return b.readRange(p, window)
	case t.resident():
		probe(window)
	case t.Floats == nil:
		p.gather(t.Bytes[p.first:][:p.n], window)
	default:
		if p.n < p.size {
			buf := buffer(p.n)
			defer steps.Put(buf)
			p.gather((*buf)[:p.n], window)
			window = (*buf)[:p.n]
		}
		first, n := p.first/t.unit.bytes*t.unit.elems, p.n/t.unit.bytes*t.unit.elems
		dst := t.Floats[first:min(first+n, t.elems)]
		info := tensor.Info{Name: t.Tensor, DType: t.info.DType, Encoding: t.info.Encoding, Shape: tensor.Shape{int64(len(dst))}}
		v, err := tensor.FromInfo(info, window)
		if err == nil {
			_, err = tensor.Decode(dst[:0:len(dst)], v)
		}
		if err != nil {
			return err
		}
	}
	b.Done(p.n, t.Tensor)
	return nil
}

// ready checks a tensor before its first use.
func (b *bulk) ready(t *target) error {
	if err := b.ctx.Err(); err != nil || t.hashed || !b.m.touch.pending.Load() {
		return err
	}
	return b.m.touch.check(t.Tensor)
}

// readWhole reads a tensor, or a slice, through its view.
func (b *bulk) readWhole(t *target) error {
	if err := b.ready(t); err != nil {
		return err
	}
	v := t.view
	var err error
	switch {
	case t.resident():
		err = v.Use(func([]byte) error { return nil })
	case b.m.index.Loaded(t.i):
		var data []byte // which the model does not cache
		if data, err = b.m.copy(t.i, false, func() ([]byte, error) { return b.m.decode(t.i) }); err == nil {
			v, err = tensor.FromInfo(*t.info, data)
		}
	}
	if err == nil && len(t.Slice) > 0 {
		v, err = v.Slice(t.Slice...)
	}
	switch {
	case err != nil || t.resident():
	case t.Floats != nil:
		_, err = tensor.Decode(t.Floats[:0:t.elems], v)
	default:
		_, err = v.ReadIntoContext(b.ctx, t.Bytes)
	}
	if err == nil {
		b.Done(t.bytes, t.Tensor)
	}
	return err
}

// readRange reads a chunk without gaps whose bytes need no conversion. window is its range, or nil.
func (b *bulk) readRange(p *chunk, window []byte) error {
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
		dst := t.Bytes[p.first+done:][:n]
		if window != nil {
			copy(dst, window[done:])
		} else if err := b.fetch(dst, at, t); err != nil {
			return err
		}
		_, _ = sum.Write(dst) // does nothing unless the tensor is hashed
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
