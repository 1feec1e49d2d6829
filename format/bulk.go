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
// before the first use of a tensor, Load compares them on the way. progress may be nil; it is
// called by one goroutine at a time, with the bytes of all requests as the total, and must not
// close the model.
//
// A request that cannot be met is an error that names the tensor, before anything is read where
// that is known by then: ErrNotFound, ErrShape (a slice outside of the tensor, too little room),
// ErrOption (Bytes and Floats both set). Others are those of View.ReadInto and tensor.Decode, and
// the context's. After an error the memory of the requests may hold anything.
func (m *Model) Load(ctx context.Context, requests []Request, progress Progress) error {
	m = m.opened()
	b := bulk{verification: newVerification(m, ctx, &VerifyOptions{Progress: progress, Workers: m.c.options.Workers})}
	defer b.pass.Close()
	return m.within(func() error {
		chunks, err := b.plan(requests)
		if err != nil {
			return err
		}
		at := func(k int) pass.Extent { return chunks[k].Extent }
		return b.eachJob(len(chunks), at, func(j *pass.Job) error { return b.run(chunks[j.From:j.To], j.Offset, j.Size) })
	})
}

// bulk is a call of Load. It uses the workers and guards of a verification.
type bulk struct {
	*verification
	use pass.Pass // of tensors that are only brought into memory
}

// loadJob is the maximum size of a job of several neighbors that are not behind a reader: they are
// copied from a buffer that stays in a cache.
const loadJob = 512 << 10

// plan returns the chunks of all requests, in the order of the files. eachJob joins neighbors.
func (b *bulk) plan(requests []Request) (chunks []chunk, err error) {
	total := int64(0)
	b.o.Workers = b.workers()
	list := make([]checkedRequest, len(requests))
	chunks = make([]chunk, 0, len(requests))
	for k := range requests {
		t := &list[k]
		t.Request = &requests[k]
		err := t.check(b.m)
		if err != nil {
			return nil, err
		}
		total += t.bytes
		b.o.Workers = max(b.o.Workers, t.region.Parallel())
	}
	for k := range list {
		t := &list[k]
		if t.Floats != nil && t.bytes > total/int64(b.o.Workers) {
			t.hashed = false // hashing it first lets several goroutines decode it
		}
		for c := range t.chunks {
			chunks = append(chunks, c)
		}
	}
	b.Expect(total)
	b.pass.Fetch = fetchSize(b.m.c.parse.Memory, b.workers())
	if !b.m.main.IsReader() {
		b.limit = loadJob
	}
	b.use = pass.Pass{Context: b.ctx, Fetch: b.pass.Fetch, IsUse: true}
	slices.SortFunc(chunks, func(x, y chunk) int { return x.Compare(y.Extent) })
	return chunks, nil
}

// run reads the chunks of a job.
func (b *bulk) run(chunks []chunk, off, size int64) (err error) {
	t := chunks[0].t
	switch {
	case t.whole:
		err = b.readWhole(t)
	case len(chunks) == 1 && chunks[0].isDirect():
		err = b.readDirect(&chunks[0])
	case len(chunks) == 1 && t.hashed:
		err = b.decodeHashed(&chunks[0])
	case areScattered(chunks, size):
		err = b.scatter(chunks, off, size)
	default:
		reads := &b.pass
		if slices.ContainsFunc(chunks, func(p chunk) bool { return p.t.resident() }) {
			reads = &b.use
		}
		err = reads.Pieces(pass.Range{File: t.region, Offset: off, Size: size, IsWhole: true}, func(data []byte) (err error) {
			for i := 0; i < len(chunks) && err == nil; i++ {
				p := &chunks[i]
				t = p.t
				err = b.read(p, data[p.Offset-off:][:p.Size])
			}
			return err
		})
	}
	return b.m.explainTensor(err, t.Tensor)
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
	list [][]byte
	gap  [pass.MaxGap]byte
}

var bufferLists = sync.Pool{New: func() any { return new(buffers) }}

// scatter reads the chunks of a job into their memory.
func (b *bulk) scatter(chunks []chunk, off, size int64) error {
	to := bufferLists.Get().(*buffers)
	defer bufferLists.Put(to)
	to.list = to.list[:0]
	at := off
	for i := range chunks {
		p := &chunks[i]
		err := b.ready(p.t)
		if err != nil {
			return err
		}
		if p.Offset > at {
			to.list = append(to.list, to.gap[:p.Offset-at])
		}
		to.list = append(to.list, p.memory())
		at = p.Offset + p.Size
	}
	err := b.pass.ReadEach(to.list, pass.Range{File: chunks[0].t.region, Offset: off, Size: size})
	clear(to.list) // which would keep the memory of the caller
	if err != nil {
		return err
	}
	for i := range chunks {
		err := b.complete(&chunks[i])
		if err != nil {
			return err
		}
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
		return b.complete(p)
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
		if t.hashed {
			b.Done(p.n, t.Tensor)
			return b.compareLoaded(t, checksum.Of(b.tensorSum(t.i).Kind, data))
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
func (b *bulk) readDirect(p *chunk) error {
	t := p.t
	err := b.ready(t)
	if err != nil {
		return err
	}
	kind := driver.NoSum
	if t.hashed {
		kind = b.tensorSum(t.i).Kind
	}
	sum := checksum.New(kind)
	from := pass.Range{File: t.region, Offset: p.Offset}
	err = b.pass.Read(p.memory(), from, func(piece []byte) error {
		if t.hashed {
			_, _ = sum.Write(piece)
		}
		b.Done(int64(len(piece)), t.Tensor)
		return nil
	})
	if err != nil || !t.hashed {
		return err
	}
	return b.compareLoaded(t, sum.Sum64())
}

// decodeHashed reads a whole tensor, decodes it, and compares its checksum on the way.
func (b *bulk) decodeHashed(p *chunk) error {
	t := p.t
	sum := checksum.New(b.tensorSum(t.i).Kind)
	offset := int64(0)
	r := pass.Range{File: t.region, Offset: p.Offset, Size: p.Size, Unit: t.unit.bytes}
	err := b.pass.Pieces(r, func(piece []byte) error {
		_, _ = sum.Write(piece)
		err := t.decode(offset, piece)
		if err != nil {
			return err
		}
		offset += int64(len(piece))
		b.Done(int64(len(piece)), t.Tensor)
		return nil
	})
	if err != nil {
		return err
	}
	return b.compareLoaded(t, sum.Sum64())
}

// complete reports a chunk whose bytes are in its memory, and compares its checksum.
func (b *bulk) complete(p *chunk) error {
	t := p.t
	b.Done(p.n, t.Tensor)
	if !t.hashed {
		return nil
	}
	return b.compareLoaded(t, checksum.Of(b.tensorSum(t.i).Kind, p.memory()))
}

// compareLoaded compares the checksum of a tensor that was read whole.
func (b *bulk) compareLoaded(t *checkedRequest, sum uint64) error {
	err := b.compareTensor(t.i, b.tensorSum(t.i), sum, t.Offset)
	if err != nil {
		return err
	}
	b.m.touch.passed(t.i)
	return nil
}
