package signing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// job is a range of a file to hash.
type job struct {
	file, sum int // index of the file, and of the range in it
	name      string
	off, size int64
	feed      func(w io.Writer, off, size int64) error
}

// run hashes all ranges in parallel, the largest first, and calls done with each digest.
func run(ctx context.Context, jobs []job, o *Options, done func(j *job, d digest) error) error {
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(b.size, a.size) })
	total := int64(0)
	for _, j := range jobs {
		total += j.size
	}
	p := work.NewProgress(o.Progress, total)
	return work.Each(ctx, len(jobs), o.Workers, func(i int) error {
		j := &jobs[i]
		w := counting{Hash: sha256.New(), ctx: ctx, p: p, name: j.name}
		if err := j.feed(&w, j.off, j.size); err != nil {
			return err
		}
		p.Add(w.n, j.name)
		return done(j, digest(w.Sum(nil)))
	})
}

// counting wraps a hash. It reports progress in steps of a megabyte and fails when its context is
// done.
type counting struct {
	hash.Hash
	ctx  context.Context
	p    *work.Progress
	name string
	n    int64 // bytes not reported yet
}

func (c *counting) Write(b []byte) (int, error) {
	if c.n += int64(len(b)); c.n >= work.Step {
		c.p.Add(c.n, c.name)
		c.n = 0
	}
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Hash.Write(b)
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// feed returns a function that writes ranges of the file f to w.
func (t *tree) feed(f *found) func(w io.Writer, off, size int64) error {
	return func(w io.Writer, off, size int64) error {
		file, err := t.open(f)
		if err != nil {
			return err
		}
		defer file.Close()
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		n, err := io.CopyBuffer(w, io.NewSectionReader(file, off, size), *buf)
		if err == nil && n < size {
			err = t.refuse(f.name, tensor.ErrTruncated, "it became shorter while it was read")
		}
		return err
	}
}
