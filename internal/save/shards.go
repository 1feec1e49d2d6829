package save

import (
	"errors"
	"os"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/contract"
	"github.com/weightmap/weightmap/internal/disk"
)

// shards writes a model into several files, which appear together.
type shards struct {
	o     *plan.WriteOptions
	files *contract.Files
	list  []*shard
	of    []int // the shard of each tensor
}

// shard is one of the files: a part of the model, or last the index.
type shard struct {
	first  int // index of its first tensor in the model
	left   int // tensors not yet written
	path   string
	plan   *plan.Plan
	layout *driver.Layout
	file   *disk.File     // nil before the first tensor
	enc    driver.Encoder // nil once the file is complete
}

// maxShards is the largest number of shards that every format can represent.
const maxShards = 1<<16 - 1

// createShards assigns the tensors of the plan to shards.
func (w *Writer) createShards() error {
	d, ok := w.driver.(contract.Splitter)
	if !ok {
		return driver.OptionError(w.format, "MaxShard", "the format is not split into several files")
	}
	s := &shards{o: w.o}
	plans := s.divide(w.plan)
	if len(s.list) > maxShards {
		return driver.OptionError(w.format, "MaxShard", "%d bytes would make %d files, the most is %d", w.o.MaxShard, len(s.list), maxShards)
	}
	var err error
	if s.files, err = d.Shards(w.o.Path, plans); err != nil {
		return err
	}
	for i, part := range s.list {
		part.path = s.files.Paths[i]
		if part.layout, err = w.layoutOf(part.plan); err != nil {
			return err
		}
	}
	w.enc, w.files = s, s.files.Paths
	if s.files.Index != "" {
		text := &driver.Layout{Parts: []driver.Part{{Bytes: s.files.Text}}, Size: int64(len(s.files.Text))}
		s.list = append(s.list, &shard{path: s.files.Index, plan: &plan.Plan{}, layout: text})
		w.files = append([]string{s.files.Index}, s.files.Paths...)
	}
	return s.list[0].open()
}

// divide starts a new shard before each tensor that exceeds the current one's limit. It returns their plans.
func (s *shards) divide(p *plan.Plan) (plans []*plan.Plan) {
	s.of = make([]int, len(p.Tensors))
	begin, size := 0, int64(0)
	end := func(to int) {
		plan := *p
		plan.Metadata, plan.Tensors = slices.Clone(p.Metadata), p.Tensors[begin:to:to]
		plans = append(plans, &plan)
		s.list = append(s.list, &shard{first: begin, left: to - begin, plan: &plan})
		begin, size = to, 0
	}
	for i := range p.Tensors {
		n := p.Tensors[i].Size
		if i > begin && n > s.o.MaxShard-size {
			end(i)
		}
		s.of[i] = len(s.list)
		size += n
	}
	end(len(p.Tensors))
	return plans
}

// Tensor implements driver.Encoder.
func (s *shards) Tensor(i int, in driver.Input) error {
	part := s.list[s.of[i]]
	if err := part.open(); err != nil {
		return err
	}
	if err := part.enc.Tensor(i-part.first, in); err != nil {
		return err
	}
	if part.left--; part.left > 0 {
		return nil
	}
	return part.finish(!s.o.NoSync)
}

// open creates the file unless there is one.
func (p *shard) open() (err error) {
	if p.file != nil {
		return nil
	}
	if p.file, err = disk.Create(p.path); err == nil {
		p.enc, err = encoderOf(p.file, p.plan, p.layout)
	}
	return err
}

// finish completes the file under its temporary name, unless that is done.
func (p *shard) finish(sync bool) error {
	err := p.open() // it may have no tensors
	if err != nil || p.enc == nil {
		return err
	}
	if err := p.enc.Finish(); err != nil {
		return err
	}
	p.enc = nil
	p.file.NoSync = !sync
	return p.file.Complete()
}

// Finish implements driver.Encoder. It renames all files into place, the index last.
func (s *shards) Finish() error {
	sync := !s.o.NoSync
	var files []*disk.File
	for _, part := range s.list {
		if err := part.finish(sync); err != nil {
			return err
		}
		files = append(files, part.file)
	}
	opens := s.files.Index
	if opens == "" {
		opens = s.files.Paths[0]
		files = append(files[1:], files[0])
	}
	mixes := disk.Exists(opens) && slices.ContainsFunc(s.files.Paths, func(path string) bool { return path != opens && slices.Contains(s.files.Old, path) })
	err := disk.PublishAll(files, sync, mixes)
	if err == nil || errors.Is(err, driver.ErrNotDurable) {
		s.removeOld()
	}
	return err
}

// removeOld removes files that only the old model had. Failing to remove one is not an error.
func (s *shards) removeOld() {
	for _, path := range append(s.files.Old, s.o.Path) {
		st, err := os.Lstat(path)
		if err == nil && st.Mode().IsRegular() && path != s.files.Index && !slices.Contains(s.files.Paths, path) {
			_ = disk.Remove(path)
		}
	}
}

// Close implements io.Closer. It removes the files that are not in place.
func (s *shards) Close() error {
	for _, part := range s.list {
		if part.file != nil {
			part.file.Abort()
		}
	}
	return nil
}
