package signing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"io/fs"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// job is a range of a file to hash.
type job struct {
	sum       *digest // the signed digest
	path      string
	off, size int64
	feed      feed
}

// feed writes a range of a file to w.
type feed func(w io.Writer, off, size int64) error

// addJobs adds jobs for a file of that size, whose parts are list.
func addJobs(jobs []job, list []part, path string, size int64, feed feed) ([]job, error) {
	last := &list[len(list)-1]
	if last.to < 0 {
		last.to = size
	}
	if last.to != size {
		return nil, different(path, "it has %d bytes, and %d are signed", size, last.to)
	}
	for i := range list {
		p := &list[i]
		jobs = append(jobs, job{&p.sum, path, p.from, p.to - p.from, feed})
	}
	return jobs, nil
}

// jobs adds jobs for the files of t, except those that have jobs since the model has them open. The statement must list
// exactly the files of t.
func (s *statement) jobs(t *tree, o *Options, jobs []job) (_ []job, err error) {
	if s.single() && t.root != nil {
		return nil, refuse(t.path, driver.ErrSignature, "it is a directory, and the signature is of one file")
	}
	for i := range t.files {
		f := &t.files[i]
		list := s.find(f.name)
		if len(list) == 0 {
			if o.AllowUnsigned || s.shard > 0 && f.info.Size() == 0 {
				continue
			}
			return nil, refuse(t.full(f.name), driver.ErrSignature, "the signature does not list it")
		}
		list[0].there = true
		if list[0].opened {
			continue
		}
		if jobs, err = addJobs(jobs, list, t.full(f.name), f.info.Size(), t.feed(f)); err != nil {
			return nil, err
		}
	}
	for _, p := range s.parts {
		if p.from == 0 && !p.there {
			return nil, refuse(t.full(p.file), driver.ErrSignature, "%w: it is signed and missing, or left out", fs.ErrNotExist)
		}
	}
	return jobs, nil
}

// run runs the jobs in parallel, the largest first, and calls done with each digest.
func run(ctx context.Context, jobs []job, o *Options, done func(j *job, d digest) error) error {
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(b.size, a.size) })
	p := &work.Progress{Report: o.Progress}
	for _, j := range jobs {
		p.Expect(j.size)
	}
	return work.Each(ctx, len(jobs), o.Workers, func(i int) error {
		j := &jobs[i]
		w := counting{sha256.New(), ctx, p, j.path}
		if err := j.feed(&w, j.off, j.size); err != nil {
			return err
		}
		return done(j, digest(w.Sum(nil)))
	})
}

// counting wraps a hash. It reports progress and fails when its context is done.
type counting struct {
	hash.Hash
	ctx  context.Context
	p    *work.Progress
	path string
}

func (c *counting) Write(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	defer c.p.Add(int64(len(b)), c.path)
	return c.Hash.Write(b)
}

// feed returns a function that writes ranges of the file f to w.
func (t *tree) feed(f *found) feed {
	return func(w io.Writer, off, size int64) error {
		file, err := t.open(f)
		if err != nil {
			return err
		}
		defer file.Close()
		n, err := io.Copy(w, io.NewSectionReader(file, off, size))
		if err == nil && n < size {
			err = refuse(t.full(f.name), tensor.ErrTruncated, "it became shorter while it was read")
		}
		return err
	}
}
