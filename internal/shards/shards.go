// Package shards opens models that an index splits into several files, as the Hugging Face Hub
// stores safetensors and PyTorch models. The index is a JSON object whose weight_map gives the file
// of each tensor.
package shards

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

const (
	maxIndex  = 100_000_000 // in bytes
	maxShards = 1 << 16
	maxDepth  = 127
)

// Map is the content of an index.
type Map struct {
	Shards   []Shard // in order of first use
	Metadata schema.Metadata

	entries []entry
	names   int // total bytes of names
}

// Shard is a file of the model.
type Shard struct {
	Name string
	at   int // where the index names it first
}

// entry is a tensor with its shard.
type entry struct {
	name  []byte
	at    int
	shard int
}

// Model opens the shards of a model of one format.
type Model struct {
	Format string
	// Open parses a shard.
	Open func(src driver.Source, space driver.Space, x *driver.Index,
		o *driver.ParseOptions) (schema.Metadata, error)
	// Placed, if not nil, is called for each tensor of the model with its shard and its index
	// there.
	Placed func(shard, i int)
}

// Parse parses the index src and all shards, and lists the tensors of the model in the order of the
// index. It returns the metadata of the index, then that of the shards. unlisted is the number of
// tensors in the shards that the index does not list.
func (m *Model) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (
	all []schema.Metadata, unlisted int, err error) {
	n := src.Size()
	most := int64(maxIndex)
	if n > most {
		return nil, 0, wire.Errorf(m.Format, "index", 0, tensor.ErrLimit, "%d bytes, the limit is %d", n,
			most)
	}
	err = o.Memory.Reserve(n)
	if err != nil {
		return nil, 0, wire.Error(m.Format, "index", 0, err)
	}
	defer o.Memory.Release(n)
	b, err := src.Slice(0, n)
	if err != nil {
		return nil, 0, err
	}
	w, err := Parse(m.Format, b, o.Memory)
	if err != nil {
		return nil, 0, err
	}
	dir, err := src.Dir()
	if err != nil {
		return nil, 0, wire.Error(m.Format, "weight_map", 0, err)
	}
	all = append(all, w.Metadata)
	indexes, meta, err := m.openAll(dir, w.Shards, o)
	defer uncount(indexes)
	if err != nil {
		return nil, 0, err
	}
	all = append(all, meta...)
	for i := range indexes {
		unlisted += indexes[i].Len()
	}
	err = m.join(w, indexes, x)
	if err != nil {
		return nil, 0, err
	}
	return all, unlisted - x.Len(), nil
}

// join lists the tensors of an index in x, as they are in the indexes of their shards.
func (m *Model) join(w *Map, indexes []driver.Index, x *driver.Index) error {
	x.Grow(len(w.entries), w.names, 4*len(w.entries))
	var c copier
	for _, e := range w.entries {
		shard := &indexes[e.shard]
		i, ok := shard.LookupBytes(e.name)
		if !ok {
			return wire.Errorf(m.Format, fmt.Sprintf("tensor %q", e.name), int64(e.at), tensor.ErrCorrupt,
				"shard %q has no tensor of that name: "+
					"index and shard are not of the same model; download both again", w.Shards[e.shard].Name)
		}
		err := x.Add(c.copied(shard, i, e.name))
		if err != nil {
			return wire.Error(m.Format, fmt.Sprintf("tensor %q", e.name), int64(e.at), err)
		}
		if m.Placed != nil {
			m.Placed(e.shard, i)
		}
	}
	return nil
}

// ParseNames parses files that no index lists, and lists their tensors in the order of the files.
// It returns their metadata.
func (m *Model) ParseNames(dir driver.Dir, names []string, x *driver.Index,
	o *driver.ParseOptions) (all []schema.Metadata, err error) {
	files := make([]Shard, len(names))
	for i, name := range names {
		files[i].Name = name
	}
	indexes, all, err := m.openAll(dir, files, o)
	defer uncount(indexes)
	if err != nil {
		return nil, err
	}
	for i := range indexes {
		err := m.addAll(i, names[i], &indexes[i], x)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addAll lists all tensors of a shard in x.
func (m *Model) addAll(number int, file string, shard, x *driver.Index) error {
	var c copier
	for i := range shard.Len() {
		name := []byte(shard.Name(i))
		_, isTwice := x.LookupBytes(name)
		if isTwice {
			return wire.Errorf(m.Format, fmt.Sprintf("shard %q", file), -1, tensor.ErrCorrupt,
				"tensor %q is in another shard too, and no index says which one counts", name)
		}
		err := x.Add(c.copied(shard, i, name))
		if err != nil {
			return wire.Error(m.Format, fmt.Sprintf("tensor %q", name), -1, err)
		}
		if m.Placed != nil {
			m.Placed(number, i)
		}
	}
	return nil
}

// openAll opens all shards and parses each into an index.
func (m *Model) openAll(dir driver.Dir, files []Shard, o *driver.ParseOptions) (
	indexes []driver.Index, all []schema.Metadata, err error) {
	indexes = make([]driver.Index, len(files))
	names := make([]string, len(files))
	for i, shard := range files {
		names[i] = shard.Name
	}
	dir.Expect(names)
	for i, shard := range files {
		x := &indexes[i]
		x.Count(o.Memory)
		meta, err := m.open(dir, shard, x, o)
		if err != nil {
			return indexes, nil, err
		}
		all = append(all, meta)
	}
	return indexes, all, nil
}

// uncount releases the memory of indexes.
func uncount(indexes []driver.Index) {
	for i := range indexes {
		indexes[i].Uncount()
	}
}

// parser parses an index.
type parser struct {
	format    string
	s         jsonmeta.Scanner
	m         *Map
	numbers   map[string]int // of shards, by name
	mapped    bool           // weight_map was found
	described bool           // metadata was found
}

// Parse parses an index. Unknown keys are ignored.
func Parse(format string, b []byte, memory *driver.Memory) (*Map, error) {
	p := &parser{format: format, m: new(Map), numbers: make(map[string]int)}
	o := jsonmeta.Options{MaxDepth: maxDepth, Memory: memory, Stored: int64(len(b))}
	p.s = jsonmeta.NewScanner(b, o)
	err := p.s.Object(p.field)
	if err != nil {
		return nil, jsonmeta.Locate(err, format, "weight_map", 0)
	}
	err = p.s.End()
	if err != nil {
		return nil, jsonmeta.Locate(err, format, "weight_map", 0)
	}
	if !p.mapped {
		err = &jsonmeta.Error{Reason: "the JSON text is no index of shards: it has no weight_map"}
		return nil, jsonmeta.Locate(err, format, "weight_map", 0)
	}
	return p.m, nil
}

// field parses a field of the index.
func (p *parser) field(key []byte, at int) error {
	switch string(key) {
	case "weight_map":
		if p.mapped {
			return &jsonmeta.Error{Offset: int64(at), Reason: "weight_map occurs twice"}
		}
		p.mapped = true
		return p.s.Object(p.entry)
	case "metadata":
		if p.described {
			return &jsonmeta.Error{Offset: int64(at), Reason: "metadata occurs twice"}
		}
		return p.metadata()
	}
	return p.s.Skip()
}

func (p *parser) metadata() (err error) {
	p.described = !p.s.Null()
	if !p.described {
		return nil
	}
	p.m.Metadata, err = p.s.Metadata()
	if errors.Is(err, tensor.ErrLimit) {
		return wire.Error(p.format, "metadata", 0, err)
	}
	return err
}

// entry parses an entry of the weight map: the name of a tensor and that of its shard.
func (p *parser) entry(name []byte, at int) error {
	m := p.m
	text, err := p.s.Text()
	if err != nil {
		return err
	}
	number, ok := p.numbers[string(text)]
	if !ok {
		number = len(m.Shards)
		m.Shards = append(m.Shards, Shard{string(text), at})
		p.numbers[string(text)] = number
	}
	shard := m.Shards[number].Name
	m.entries = append(m.entries, entry{name, at, number})
	m.names += len(name)
	switch {
	case !ok && (!fs.ValidPath(shard) || shard == "."):
		return wire.Errorf(p.format, "weight_map "+strconv.Quote(string(name)), int64(at),
			tensor.ErrCorrupt, "%q is no file below the directory of the index", shard)
	case number == maxShards:
		return wire.Errorf(p.format, "weight_map", int64(at), tensor.ErrLimit, "more than %d shards",
			maxShards)
	case len(m.entries) > driver.MaxTensors:
		return wire.Errorf(p.format, "weight_map", int64(at), tensor.ErrLimit, "more than %d tensors",
			driver.MaxTensors)
	}
	return nil
}

// open opens a shard and parses it into x.
func (m *Model) open(dir driver.Dir, shard Shard, x *driver.Index, o *driver.ParseOptions) (
	schema.Metadata, error) {
	err := o.Context.Err()
	if err != nil {
		return nil, err
	}
	src, space, err := dir.Open(shard.Name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w; download it again", tensor.ErrNotFound, err)
	}
	if err != nil {
		return nil, wire.Error(m.Format, fmt.Sprintf("shard %q", shard.Name), int64(shard.at), err)
	}
	meta, err := m.Open(src, space, x, o)
	full := x.Err()
	if full != nil {
		return nil, wire.Error(m.Format, "tensors", 0, full)
	}
	return meta, wire.Place(err, "", src.Path(), "")
}

// Merge combines the metadata of several files: the first value of a key counts. differ is the
// number of others that are not the same string.
func Merge(files ...schema.Metadata) (all schema.Metadata, differ int) {
	first := make(map[string]any)
	for _, e := range slices.Concat(files...) {
		v, taken := first[e.Key]
		if !taken {
			first[e.Key] = e.Value
			all = append(all, e)
			continue
		}
		text, ok := e.Value.(string)
		if !ok || v != any(text) {
			differ++
		}
	}
	return all, differ
}

// copier copies tensors to another index, with one allocation for all of them.
type copier struct {
	info tensor.Info
	t    driver.Tensor
}

// copied returns a copy of tensor i, valid until the next call.
func (c *copier) copied(x *driver.Index, i int, name []byte) *driver.Tensor {
	x.Describe(i, &c.info)
	space, off, size := x.Place(i)
	c.t = driver.Tensor{
		Name:        name,
		DType:       c.info.DType,
		Shape:       c.info.Shape,
		Space:       space,
		Offset:      off,
		Size:        size,
		Stored:      c.info.Stored,
		Compression: c.info.Compression,
		Encoding:    c.info.Encoding,
		Loaded:      x.Loaded(i),
	}
	return &c.t
}
