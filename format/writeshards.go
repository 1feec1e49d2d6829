package format

import (
	"path/filepath"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/disk"
)

// shardsEncoder writes a model into several files, which appear together.
type shardsEncoder struct {
	w     *Writer
	files publisher
	list  []*shard
	of    []int // the shard of each tensor
}

// publisher is the files of a model in several: a disk.Model or a disk.Split.
type publisher interface {
	CreatePart(i int) (*disk.File, error)
	Publish() error
	Abort()
}

// shard is one of the files.
type shard struct {
	first  int // index of its first tensor in the model
	left   int // tensors not yet written
	schema *schema.Schema
	layout *driver.Layout
	file   *disk.File     // nil before the first tensor
	enc    driver.Encoder // nil once the file is complete
}

// maxShards is the largest number of shards that every format can represent.
const maxShards = 1<<16 - 1

// createShards assigns the tensors of the schema to shards.
func (w *Writer) createShards() error {
	d, ok := w.driver.(driver.Splitter)
	if !ok {
		return driver.OptionError(w.format, "MaxShard", "the format is not split into several files")
	}
	s := &shardsEncoder{w: w}
	schemas := s.divide(w.schema)
	if len(schemas) > maxShards {
		return driver.OptionError(w.format, "MaxShard", "%d bytes would make %d files, the most is %d", w.o.MaxShard, len(schemas), maxShards)
	}
	x := newShardIndex(d, w.driver.Describe().Extensions[0], w.path)
	if len(schemas) == 1 {
		return w.createAlone(x)
	}
	d.Split(schemas)
	for _, part := range s.list {
		layout, err := w.layoutOf(part.schema)
		if err != nil {
			return err
		}
		part.layout = layout
		for _, p := range layout.Parts {
			w.contents += xxhash.Sum64(p.Bytes)
		}
	}
	w.enc = s
	x.schemas = schemas
	if x.places.Index == "" {
		return s.createSplit(x)
	}
	return s.createModel(x)
}

// createModel starts files that an index names.
func (s *shardsEncoder) createModel(x *shardIndex) error {
	w := s.w
	if _, err := x.driver.Index(x.schemas, x.plain()); err != nil {
		return err
	}
	m, err := disk.CreateModel(disk.Places{Dir: x.dir, Opens: x.places.Index, List: x.places.Index, File: x.places.File}, x, len(x.schemas))
	if err != nil {
		return err
	}
	m.NoSync = w.o.NoSync
	m.KeepOld = w.o.KeepOld
	w.hashes = true
	w.commit = func() error {
		m.Contents = w.contents
		return m.Publish()
	}
	w.abort = m.Abort
	w.paths = x.paths
	s.files = m
	return nil
}

// createSplit starts files of which the first opens the model.
func (s *shardsEncoder) createSplit(x *shardIndex) error {
	w := s.w
	m, err := disk.CreateSplit(x.places.Stem+x.extension, x.paths(), x)
	if err != nil {
		return err
	}
	m.NoSync = w.o.NoSync
	w.commit = m.Publish
	w.abort = m.Abort
	w.paths = x.paths
	s.files = m
	return nil
}

// createAlone starts a model in one file of a format that may have parts in its place.
func (w *Writer) createAlone(x *shardIndex) error {
	path := w.path
	if x.places.File != "" && x.places.Index != "" {
		path = x.places.File
	}
	if w.layout == nil {
		layout, err := w.layoutOf(w.schema)
		if err != nil {
			return err
		}
		w.layout = layout
	}
	places := disk.Places{Dir: filepath.Dir(path), Opens: path, List: x.places.Index, File: path}
	if x.places.Index == "" && path == x.places.File {
		places.Excludes = x.wholeSplit
	}
	m, err := disk.CreateModel(places, x, 0)
	if err != nil {
		return err
	}
	m.NoSync = w.o.NoSync
	m.KeepOld = w.o.KeepOld
	w.commit = m.Publish
	w.abort = m.Abort
	w.paths = func() []string { return []string{path} }
	return w.start(m.Opening(), w.layout.Ordered)
}

// divide starts a new shard before each tensor that exceeds the current one's limit. It returns
// their schemas.
func (s *shardsEncoder) divide(p *schema.Schema) (schemas []*schema.Schema) {
	s.of = make([]int, len(p.Tensors))
	begin := 0
	size := int64(0)
	end := func(to int) {
		part := *p
		part.Metadata = slices.Clone(p.Metadata)
		part.Tensors = p.Tensors[begin:to:to]
		schemas = append(schemas, &part)
		s.list = append(s.list, &shard{first: begin, left: to - begin, schema: &part})
		begin = to
		size = 0
	}
	for i := range p.Tensors {
		n := p.Tensors[i].Size
		if i > begin && n > s.w.o.MaxShard-size {
			end(i)
		}
		s.of[i] = len(s.list)
		size += n
	}
	end(len(p.Tensors))
	return schemas
}

// Tensor implements driver.Encoder.
func (s *shardsEncoder) Tensor(i int, in driver.Input) error {
	n := s.of[i]
	if err := s.open(n); err != nil {
		return err
	}
	part := s.list[n]
	if err := part.enc.Tensor(i-part.first, in); err != nil {
		return err
	}
	part.left--
	if part.left > 0 {
		return nil
	}
	return part.finish()
}

// open creates the file of a shard, unless that is done.
func (s *shardsEncoder) open(n int) error {
	part := s.list[n]
	if part.file != nil {
		return nil
	}
	f, err := s.files.CreatePart(n)
	if err != nil {
		return err
	}
	part.file = f
	part.enc, err = encoderOf(f, part.schema, part.layout)
	return err
}

// finish completes the file under its hidden name, unless that is done.
func (p *shard) finish() error {
	if p.enc == nil {
		return nil
	}
	if err := p.enc.Finish(); err != nil {
		return err
	}
	p.enc = nil
	return p.file.Complete()
}

// Finish implements driver.Encoder.
func (s *shardsEncoder) Finish() error {
	for n, part := range s.list {
		if err := s.open(n); err != nil { // it may have no tensors
			return err
		}
		if err := part.finish(); err != nil {
			return err
		}
	}
	return nil
}
