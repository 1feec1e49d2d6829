package format

import (
	"context"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/tensor"
)

// Load reads many tensors and slices of tensors into the caller's memory: in the order of the file,
// in large steps, on as many goroutines as Options.Workers says. It takes a few megabytes for each
// of them, and for each tensor at work that is compressed or encrypted as much as that. From disk
// it reads as fast as plain reads of the file do, and no goroutine that waits for the disk holds a
// processor. Behind a reader such as one of package format/remote, requests for neighbors become
// one range, and as many ranges are fetched at a time as the reader says.
//
// Requests may overlap, and their memory must not. Where Options.Check has checksums compared
// before the first use of a tensor, Load computes CRC-32, CRC-32C, Adler-32 and the XXH64 of a
// tensor from the bytes that it reads, so that it reads them once, and also what else such a
// checksum covers. Other checksums are compared first, as are those of tensors that are decoded,
// dequantized or only brought into memory, or of which requests overlap: that reads them twice.
// progress may be nil; it is called by one goroutine at a time, with the bytes of all requests as
// the total, and must not close the model.
//
// A request that cannot be met is an error that names the tensor, before anything is read where
// that is known by then: ErrNotFound, ErrShape (a slice outside of the tensor, too little room),
// ErrOption (Bytes and Floats both set). Others are those of View.ReadInto and tensor.Decode, and
// the context's. After an error the memory of the requests may hold anything.
func (m *Model) Load(ctx context.Context, requests []Request, progress Progress) error {
	m = m.opened()
	v := newVerification(m, ctx, &VerifyOptions{Progress: progress, Workers: m.c.options.Workers})
	b := bulk{verification: v, sums: loadSums{verification: v}}
	defer b.pass.Close()
	return m.within(func() error {
		err := b.plan(requests)
		if err != nil {
			return err
		}
		err = b.Each(len(b.jobs), func(k int) error { return b.run(&b.jobs[k]) })
		if err != nil {
			return err
		}
		return b.sums.finish(b.list)
	})
}

// bulk is a call of Load. It uses the workers and guards of a verification.
type bulk struct {
	*verification
	use    pass.Pass // of tensors that are only brought into memory
	list   []checkedRequest
	chunks []chunk // of all requests, in the order of the files
	jobs   []pass.Job
	sums   loadSums
}

// loadJob is the maximum size of a job of several neighbors that are not behind a reader: they are
// copied from a buffer that stays in a cache.
const loadJob = 512 << 10

// plan checks the requests, and sets what is to be done.
func (b *bulk) plan(requests []Request) error {
	total := int64(0)
	b.o.Workers = b.workers()
	b.list = make([]checkedRequest, len(requests))
	for k := range requests {
		t := &b.list[k]
		t.Request = &requests[k]
		err := t.check(b.m)
		if err != nil {
			return err
		}
		total += t.bytes
		b.o.Workers = max(b.o.Workers, t.region.Parallel())
	}
	b.sums.plan(b.list, total/int64(b.o.Workers))
	b.chunks = make([]chunk, 0, len(requests))
	for k := range b.list {
		for c := range b.list[k].chunks {
			b.chunks = append(b.chunks, c)
		}
	}
	b.Expect(total)
	b.pass.Fetch = fetchSize(b.m.c.parse.Memory, b.workers())
	if !b.m.main.IsReader() {
		b.limit = loadJob
	}
	b.use = pass.Pass{Context: b.ctx, Fetch: b.pass.Fetch, IsUse: true}
	slices.SortFunc(b.chunks, func(x, y chunk) int { return x.Compare(y.Extent) })
	at := func(k int) pass.Extent { return b.chunks[k].Extent }
	b.jobs = pass.Jobs(len(b.chunks), b.limit, at)
	if b.haveOverlaps() {
		b.sums.drop(b.list)
	}
	return nil
}

// haveOverlaps reports whether jobs read the same bytes of a file.
func (b *bulk) haveOverlaps() bool {
	var last pass.Extent
	for i := range b.jobs {
		j := &b.jobs[i]
		if b.chunks[j.From].t.whole {
			continue
		}
		if j.File == last.File && j.Offset < last.Offset+last.Size && j.Extent != last {
			return true
		}
		last = j.Extent
	}
	return false
}

// run reads the chunks of a job, and computes the checksums of its bytes.
func (b *bulk) run(j *pass.Job) error {
	t := b.chunks[j.From].t
	if t.whole {
		return b.m.explainTensor(b.readWhole(t), t.Tensor)
	}
	f := b.sums.feed(j.Extent)
	err := b.readJob(j, f)
	if err != nil {
		return b.m.explainTensor(err, t.Tensor)
	}
	return f.flush()
}

// readJob reads the chunks of a job.
func (b *bulk) readJob(j *pass.Job, f *feed) error {
	chunks := b.chunks[j.From:j.To]
	first := &chunks[0]
	switch {
	case len(chunks) == 1 && first.isDirect():
		return b.readDirect(first, f)
	case len(chunks) == 1 && first.t.Floats != nil && first.n == first.Size:
		return b.decodePieces(first, f)
	case areScattered(chunks, j.Size):
		return b.scatter(chunks, j, f)
	}
	reads := &b.pass
	if slices.ContainsFunc(chunks, func(p chunk) bool { return p.t.resident() }) {
		reads = &b.use
	}
	r := pass.Range{File: first.t.region, Offset: j.Offset, Size: j.Size, IsWhole: true}
	r.IsPrivate = f.isActive()
	return reads.Pieces(r, func(data []byte) error {
		err := f.write(data)
		if err != nil {
			return err
		}
		for i := range chunks {
			p := &chunks[i]
			err := b.read(p, data[p.Offset-j.Offset:][:p.Size])
			if err != nil {
				return b.m.explainTensor(err, p.t.Tensor)
			}
		}
		return nil
	})
}

// leastScattered is the mean size of chunks from which it costs less to read them into their memory
// by one system call than to copy them from a buffer.
const leastScattered = 4 << 10

// areScattered reports whether the chunks of a job are read into their memory at once: they have no
// gaps, and need no conversion.
func areScattered(chunks []chunk, size int64) bool {
	if size < leastScattered*int64(len(chunks)) {
		return false
	}
	for i := range chunks {
		p := &chunks[i]
		overlaps := i > 0 && p.Offset < chunks[i-1].Offset+chunks[i-1].Size
		if !p.isDirect() || overlaps {
			return false
		}
	}
	return true
}

// buffers are the memory of the chunks of a job, and that for the bytes between them.
type buffers struct {
	list, all [][]byte
	gaps      []byte
}

var bufferLists = sync.Pool{New: func() any { return new(buffers) }}

// gap returns memory for n bytes between two chunks.
func (to *buffers) gap(n int64) []byte {
	used := len(to.gaps)
	to.gaps = slices.Grow(to.gaps, int(n))[:used+int(n)]
	return to.gaps[used:]
}

// scatter reads the chunks of a job into their memory.
func (b *bulk) scatter(chunks []chunk, j *pass.Job, f *feed) error {
	to := bufferLists.Get().(*buffers)
	defer bufferLists.Put(to)
	to.all = to.all[:0]
	to.gaps = to.gaps[:0]
	at := j.Offset
	for i := range chunks {
		p := &chunks[i]
		err := b.ready(p.t)
		if err != nil {
			return err
		}
		if p.Offset > at {
			to.all = append(to.all, to.gap(p.Offset-at))
		}
		to.all = append(to.all, p.memory())
		at = p.Offset + p.Size
	}
	defer clear(to.all) // which would keep the memory of the caller
	to.list = append(to.list[:0], to.all...)
	r := pass.Range{File: chunks[0].t.region, Offset: j.Offset, Size: j.Size}
	err := b.pass.ReadEach(to.list, r)
	clear(to.list)
	if err != nil {
		return err
	}
	for _, data := range to.all {
		err := f.write(data)
		if err != nil {
			return err
		}
	}
	for i := range chunks {
		b.Done(chunks[i].n, chunks[i].t.Tensor)
	}
	return nil
}

// read reads a chunk from data, its range of the file.
func (b *bulk) read(p *chunk, data []byte) error {
	t := p.t
	if err := b.ready(t); err != nil {
		return err
	}
	switch {
	case p.isDirect():
		copy(p.memory(), data)
	case t.resident():
		checksum.Of(driver.NoSum, data)
	case t.Floats == nil:
		p.gather(t.Bytes[p.first:][:p.n], data)
	default:
		if p.n < p.Size {
			buf := buffer(p.n)
			defer steps.Put(buf)
			p.gather((*buf)[:p.n], data)
			data = (*buf)[:p.n]
		}
		err := t.decode(p.first, data)
		if err != nil {
			return err
		}
	}
	b.Done(p.n, t.Tensor)
	return nil
}

// ready checks a tensor before its first use.
func (b *bulk) ready(t *checkedRequest) error {
	if err := b.ctx.Err(); err != nil || t.hashed || !b.m.touch.pending.Load() {
		return err
	}
	return b.m.checkTouch(t.Tensor)
}

// readWhole reads a tensor, or a slice, through its view.
func (b *bulk) readWhole(t *checkedRequest) error {
	if err := b.ready(t); err != nil {
		return err
	}
	v := t.view
	if b.m.index.Loaded(t.i) && !t.resident() {
		data, err := b.m.decoded(t.i, false) // which the model does not cache
		if err != nil {
			return err
		}
		v, err = tensor.FromInfo(*t.info, data)
		if err != nil {
			return err
		}
	}
	err := t.readView(b.ctx, v)
	if err != nil {
		return err
	}
	b.Done(t.bytes, t.Tensor)
	return nil
}

// readView reads what is selected of the tensor v.
func (t *checkedRequest) readView(ctx context.Context, v tensor.View) error {
	if t.resident() {
		return v.Use(func([]byte) error { return nil })
	}
	if len(t.Slice) > 0 {
		part, err := v.Slice(t.Slice...)
		if err != nil {
			return err
		}
		v = part
	}
	if t.Floats != nil {
		_, err := tensor.Decode(t.Floats[:0:t.elems], v)
		return err
	}
	_, err := v.ReadIntoContext(ctx, t.Bytes)
	return err
}

// readDirect reads a chunk without gaps whose bytes need no conversion.
func (b *bulk) readDirect(p *chunk, f *feed) error {
	t := p.t
	err := b.ready(t)
	if err != nil {
		return err
	}
	from := pass.Range{File: t.region, Offset: p.Offset}
	return b.pass.Read(p.memory(), from, func(piece []byte) error {
		err := f.write(piece)
		b.Done(int64(len(piece)), t.Tensor)
		return err
	})
}

// decodePieces reads a chunk without gaps, and decodes it.
func (b *bulk) decodePieces(p *chunk, f *feed) error {
	t := p.t
	err := b.ready(t)
	if err != nil {
		return err
	}
	at := p.first
	r := pass.Range{File: t.region, Offset: p.Offset, Size: p.Size, Unit: t.unit.bytes}
	r.IsPrivate = f.isActive()
	return b.pass.Pieces(r, func(piece []byte) error {
		err := f.write(piece)
		if err != nil {
			return err
		}
		err = t.decode(at, piece)
		if err != nil {
			return err
		}
		at += int64(len(piece))
		b.Done(int64(len(piece)), t.Tensor)
		return nil
	})
}
