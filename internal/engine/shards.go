package engine

import (
	"errors"
	"os"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/sink"
)

// shards writes a model into several files, which appear together.
type shards struct {
	cfg   *WriteConfig
	files *driver.Shards
	list  []*shardFile
	of    []int // the shard of each tensor
	index *sink.File
	over  bool
}

// shardFile is one of the files.
type shardFile struct {
	path   string
	first  int // tensor of the model
	left   int // tensors to come
	plan   *driver.Plan
	layout *driver.Layout
	file   *sink.File // nil before its first tensor
	t      *sink.Buffer
	enc    *layoutEncoder // nil when the file is complete
}

// maxShards is the most that all formats can count.
const maxShards = 1<<16 - 1

// newShards divides a plan.
func newShards(p *driver.Plan, c *WriteConfig) (*shards, error) {
	d, ok := c.Driver.(driver.Sharder)
	if !ok {
		return nil, driver.OptionError(c.Driver.Describe().Name, "MaxShard", "the format is not split into several files")
	}
	s := &shards{cfg: c}
	s.divide(p)
	if len(s.list) > maxShards {
		return nil, driver.OptionError(c.Driver.Describe().Name, "MaxShard", "%d bytes would make %d files, the most is %d", c.MaxShard, len(s.list), maxShards)
	}
	plans := make([]*driver.Plan, len(s.list))
	for i := range plans {
		plans[i] = s.list[i].plan
	}
	var err error
	if s.files, err = d.Shards(c.Options.Path, plans); err != nil {
		return nil, err
	}
	for i, part := range s.list {
		part.path = s.files.Paths[i]
		if part.layout, err = d.Layout(part.plan, &c.Options); err != nil {
			return nil, err
		}
	}
	return s, s.list[0].open()
}

// divide begins a shard with each tensor that the one before has no room for.
func (s *shards) divide(p *driver.Plan) {
	s.of = make([]int, len(p.Tensors))
	begin, size := 0, int64(0)
	end := func(to int) {
		plan := *p
		plan.Metadata, plan.Tensors = slices.Clone(p.Metadata), p.Tensors[begin:to:to]
		s.list = append(s.list, &shardFile{first: begin, left: to - begin, plan: &plan})
		begin, size = to, 0
	}
	for i := range p.Tensors {
		n := p.Tensors[i].Size
		if i > begin && n > s.cfg.MaxShard-size {
			end(i)
		}
		s.of[i] = len(s.list)
		size += n
	}
	end(len(p.Tensors))
}

// paths lists the files, the one that opens the model first.
func (s *shards) paths() []string {
	if s.files.Index != "" {
		return append([]string{s.files.Index}, s.files.Paths...)
	}
	return s.files.Paths
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
	return part.finish(!s.cfg.Options.NoSync)
}

// open creates the file when its first tensor comes.
func (p *shardFile) open() (err error) {
	if p.file != nil {
		return nil
	}
	if p.file, err = sink.CreateFile(p.path); err != nil {
		p.file = nil
		return err
	}
	p.t = sink.NewBuffer(p.file)
	p.enc, err = newLayoutEncoder(p.t, p.plan, p.layout)
	return err
}

// finish completes the file, under its temporary name.
func (p *shardFile) finish(sync bool) error {
	err := p.enc.Finish()
	if err == nil {
		err = p.t.Flush()
	}
	if err != nil {
		return err
	}
	p.t.Release()
	p.enc, p.t = nil, nil
	return p.file.Finish(sync)
}

// Finish implements driver.Encoder: it puts all files in place, the one that opens the model
// last.
func (s *shards) Finish() error {
	sync := !s.cfg.Options.NoSync
	files := make([]*sink.File, 0, len(s.list)+1)
	for _, part := range s.list {
		if part.enc != nil { // of a model without tensors
			if err := part.finish(sync); err != nil {
				return err
			}
		}
		files = append(files, part.file)
	}
	if s.files.Index == "" {
		files = append(files[1:], files[0])
	} else if err := s.writeIndex(sync); err != nil {
		return err
	} else {
		files = append(files, s.index)
	}
	s.over = true
	opens := s.paths()[0]
	_, err := os.Lstat(opens)
	mixes := err == nil && slices.ContainsFunc(s.files.Paths, func(path string) bool { return path != opens && slices.Contains(s.files.Old, path) })
	err = sink.CommitAll(files, sync, mixes)
	if err == nil || errors.Is(err, driver.ErrNotDurable) {
		s.removeOld()
	}
	return err
}

func (s *shards) writeIndex(sync bool) (err error) {
	if s.index, err = sink.CreateFile(s.files.Index); err != nil {
		s.index = nil
		return err
	}
	if _, err := s.index.WriteAt(s.files.Text, 0); err != nil {
		return err
	}
	return s.index.Finish(sync)
}

// removeOld removes what only the old model had. That it cannot is no failure of writing.
func (s *shards) removeOld() {
	for _, path := range append(s.files.Old, s.cfg.Options.Path) {
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && !slices.Contains(s.paths(), path) {
			_ = sink.Remove(path)
		}
	}
}

// Close implements io.Closer: it removes what was not put in place.
func (s *shards) Close() error {
	if s.over {
		return nil
	}
	s.over = true
	for _, part := range s.list {
		if part.t != nil {
			part.t.Release()
		}
		if part.file != nil {
			part.file.Abort()
		}
	}
	if s.index != nil {
		s.index.Abort()
	}
	return nil
}
