package signing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"io/fs"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/work"
)

// job is a range of a file to hash.
type job struct {
	part *part
	file *file
}

// match adds jobs for files, except those in the tree that have jobs since the model has them open. The statement
// must list all of them.
func (s *statement) match(jobs []job, files []file, o *Options) ([]job, error) {
	for i := range files {
		f := &files[i]
		list := s.find(f.name)
		if len(list) == 0 {
			if !f.opened && (o.AllowUnsigned || s.shard > 0 && f.size == 0) {
				continue
			}
			return nil, refuse(f.path, driver.ErrSignature, "the signature does not list it")
		}
		first, last := &list[0], &list[len(list)-1]
		first.there = !f.opened
		if first.opened && first.there {
			continue
		}
		first.opened = f.opened
		if last.to < 0 {
			last.to = f.size
		}
		if last.to != f.size {
			return nil, different(f.path, "it has %d bytes, and %d are signed", f.size, last.to)
		}
		for i := range list {
			jobs = append(jobs, job{&list[i], f})
		}
	}
	return jobs, nil
}

// matchAll is match for the files of t. All parts must be of these.
func (s *statement) matchAll(jobs []job, t *tree, o *Options) ([]job, error) {
	if s.single() && t.root != nil {
		return nil, refuse(t.path, driver.ErrSignature, "it is a directory, and the signature is of one file")
	}
	jobs, err := s.match(jobs, t.files, o)
	if err != nil {
		return nil, err
	}
	for _, p := range s.parts {
		if p.from == 0 && !p.there {
			return nil, refuse(t.full(p.file), driver.ErrSignature, "%w: it is signed and missing, or left out", fs.ErrNotExist)
		}
	}
	return jobs, nil
}

// run runs the jobs in parallel, the largest first, and calls done with each digest.
func run(ctx context.Context, jobs []job, o *Options, done func(j job, d digest) error) error {
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(b.part.size(), a.part.size()) })
	p := &work.Progress{Report: o.Progress}
	for _, j := range jobs {
		p.Expect(j.part.size())
	}
	return work.Each(ctx, len(jobs), o.Workers, func(i int) error {
		j, h := jobs[i], sha256.New()
		write := writer(func(b []byte) (int, error) {
			p.Add(int64(len(b)), j.file.path)
			h.Write(b)
			return len(b), ctx.Err()
		})
		if err := j.file.feed(write, j.part.from, j.part.size()); err != nil {
			return err
		}
		return done(j, digest(h.Sum(nil)))
	})
}

// writer makes an io.Writer of a function.
type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
