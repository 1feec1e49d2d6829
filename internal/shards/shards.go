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
	Open func(src driver.Source, s driver.Space, y *driver.Index, o *driver.ParseOptions) (schema.Metadata, error)
	// Placed, if not nil, is called for each tensor of the model with its shard and its index
	// there.
	Placed func(shard, i int)
}

// Parse parses the index src and all shards, and lists the tensors of the model in the order of the
// index. It returns the metadata of the index, then that of the shards. unlisted is the number of
// tensors in the shards that the index does not list.
func (m *Model) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (all []schema.Metadata, unlisted int, err error) {
	n := src.Size()
	most := int64(maxIndex)
	if n > most {
		return nil, 0, wire.Errorf(m.Format, "index", 0, tensor.ErrLimit, "%d bytes, the limit is %d", n, most)
	}
	if err := o.Memory.Reserve(n); err != nil {
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
	x.Grow(len(w.entries), w.names, 4*len(w.entries))
	for _, e := range w.entries {
		field := fmt.Sprintf("tensor %q", e.name)
		y := &indexes[e.shard]
		i, ok := y.LookupBytes(e.name)
		if !ok {
			return nil, 0, wire.Errorf(m.Format, field, int64(e.at), tensor.ErrCorrupt, "shard %q has no tensor of that name: index and shard are not of the same model; download both again", w.Shards[e.shard].Name)
		}
		if err := x.Add(copied(y, i, e.name)); err != nil {
			return nil, 0, wire.Error(m.Format, field, int64(e.at), err)
		}
		if m.Placed != nil {
			m.Placed(e.shard, i)
		}
	}
	return all, unlisted - x.Len(), nil
}

// ParseNames parses files that no index lists, and lists their tensors in the order of the files.
// It returns their metadata.
func (m *Model) ParseNames(dir driver.Dir, names []string, x *driver.Index, o *driver.ParseOptions) (all []schema.Metadata, err error) {
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
		y := &indexes[i]
		for k := range y.Len() {
			name := []byte(y.Name(k))
			_, isTwice := x.LookupBytes(name)
			if isTwice {
				return nil, wire.Errorf(m.Format, fmt.Sprintf("shard %q", names[i]), -1, tensor.ErrCorrupt, "tensor %q is in another shard too, and no index says which one counts", name)
			}
			err := x.Add(copied(y, k, name))
			if err != nil {
				return nil, wire.Error(m.Format, fmt.Sprintf("tensor %q", name), -1, err)
			}
			if m.Placed != nil {
				m.Placed(i, k)
			}
		}
	}
	return all, nil
}

// openAll opens all shards and parses each into an index.
func (m *Model) openAll(dir driver.Dir, files []Shard, o *driver.ParseOptions) (indexes []driver.Index, all []schema.Metadata, err error) {
	indexes = make([]driver.Index, len(files))
	names := make([]string, len(files))
	for i, shard := range files {
		names[i] = shard.Name
	}
	dir.Expect(names)
	for i, shard := range files {
		y := &indexes[i]
		y.Count(o.Memory)
		meta, err := m.open(dir, shard, y, o)
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

// Parse parses an index. Unknown keys are ignored.
func Parse(format string, b []byte, memory *driver.Memory) (*Map, error) {
	w := new(Map)
	numbers := make(map[string]int)
	s := jsonmeta.NewScanner(b, jsonmeta.Options{MaxDepth: maxDepth, Memory: memory, Stored: int64(len(b))})
	add := func(name []byte, at int) error {
		shard, err := s.Text()
		if err != nil {
			return err
		}
		number, ok := numbers[string(shard)]
		if !ok {
			number = len(w.Shards)
			w.Shards = append(w.Shards, Shard{string(shard), at})
			numbers[string(shard)] = number
		}
		w.entries = append(w.entries, entry{name, at, number})
		w.names += len(name)
		switch {
		case !fs.ValidPath(string(shard)) || string(shard) == ".":
			return wire.Errorf(format, "weight_map "+strconv.Quote(string(name)), int64(at), tensor.ErrCorrupt, "%q is no file below the directory of the index", shard)
		case number == maxShards:
			return wire.Errorf(format, "weight_map", int64(at), tensor.ErrLimit, "more than %d shards", maxShards)
		case len(w.entries) > driver.MaxTensors:
			return wire.Errorf(format, "weight_map", int64(at), tensor.ErrLimit, "more than %d tensors", driver.MaxTensors)
		}
		return nil
	}
	var mapped, described bool // weight_map and metadata were found
	err := s.Object(func(key []byte, at int) (err error) {
		switch name := string(key); {
		case name == "weight_map" && mapped, name == "metadata" && described:
			return &jsonmeta.Error{Offset: int64(at), Reason: name + " occurs twice"}
		case name == "weight_map":
			mapped = true
			return s.Object(add)
		case name != "metadata":
			return s.Skip()
		}
		if described = !s.Null(); described {
			if w.Metadata, err = s.Metadata(); errors.Is(err, tensor.ErrLimit) {
				err = wire.Error(format, "metadata", 0, err)
			}
		}
		return err
	})
	if err == nil {
		err = s.End()
	}
	if err == nil && !mapped {
		err = &jsonmeta.Error{Reason: "the JSON text is no index of shards: it has no weight_map"}
	}
	return w, jsonmeta.Locate(err, format, "weight_map", 0)
}

// open opens a shard and parses it into y.
func (m *Model) open(dir driver.Dir, shard Shard, y *driver.Index, o *driver.ParseOptions) (schema.Metadata, error) {
	if err := o.Context.Err(); err != nil {
		return nil, err
	}
	src, space, err := dir.Open(shard.Name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w; download it again", tensor.ErrNotFound, err)
		}
		return nil, wire.Error(m.Format, fmt.Sprintf("shard %q", shard.Name), int64(shard.at), err)
	}
	meta, err := m.Open(src, space, y, o)
	if full := y.Err(); full != nil {
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
		} else if text, ok := e.Value.(string); !ok || v != any(text) {
			differ++
		}
	}
	return all, differ
}

// copied returns a copy of tensor i for another index.
func copied(y *driver.Index, i int, name []byte) *driver.Tensor {
	var info tensor.Info
	y.Describe(i, &info)
	space, off, size := y.Place(i)
	return &driver.Tensor{
		Name: name, DType: info.DType, Shape: info.Shape, Space: space, Offset: off, Size: size, Stored: info.Stored,
		Compression: info.Compression, Encoding: info.Encoding, Loaded: y.Loaded(i),
	}
}
