// Package shards opens models that an index splits into several files, as the Hugging Face Hub
// stores safetensors and PyTorch models. The index is a JSON object whose weight_map gives the file
// of each tensor.
package shards

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
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
	Shards   []string // in order of first use
	Metadata []byte   // JSON object, or nil

	format  string
	s       jsonmeta.Scanner
	found   bool
	entries []mapped
	names   int            // total bytes of names
	first   []int          // index of the first tensor of each shard
	numbers map[string]int // index of each shard
}

// mapped is a tensor with its shard.
type mapped struct {
	name  []byte
	at    int
	shard int
}

// Model opens the shards of a model of one format.
type Model struct {
	Format string
	// Open parses a shard.
	Open func(src driver.Source, s driver.Space, y *driver.Index) error
	// Placed, if not nil, is called for each tensor of the model with its shard and its index
	// there.
	Placed func(shard, i int)
}

// Parse parses the index src and all shards, and lists the tensors of the model in the order of the
// index. unlisted is the number of tensors in the shards that the index does not list.
func (m *Model) Parse(src driver.Source, x *driver.Index, o *driver.Options) (w *Map, unlisted int, err error) {
	n, most := src.Size(), int64(maxIndex)
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
	if w, err = Parse(m.Format, b, driver.MaxTensors); err != nil {
		return nil, 0, err
	}
	dir, err := src.Dir()
	if err != nil {
		return nil, 0, wire.Error(m.Format, "weight_map", 0, err)
	}
	unlisted, err = m.join(w, dir, x, o)
	return w, unlisted, err
}

// Parse parses an index with at most most tensors.
func Parse(format string, b []byte, most int) (*Map, error) {
	w := &Map{format: format, s: jsonmeta.NewScanner(b, jsonmeta.Options{MaxDepth: maxDepth}), numbers: make(map[string]int)}
	err := w.parse(b, most)
	if j, ok := err.(*jsonmeta.Error); ok {
		err = wire.Error(format, "weight_map", j.Offset, err)
	}
	return w, err
}

// parse parses the index. Unknown keys are ignored.
func (w *Map) parse(b []byte, most int) error {
	err := w.s.Object(func(key []byte, at int) error {
		switch string(key) {
		case "weight_map":
			if w.found {
				return &jsonmeta.Error{Offset: int64(at), Reason: "weight_map occurs twice"}
			}
			w.found = true
			return w.s.Object(func(name []byte, at int) error { return w.add(name, at, most) })
		case "metadata":
			if w.Metadata != nil {
				return &jsonmeta.Error{Offset: int64(at), Reason: "metadata occurs twice"}
			}
			if w.s.Null() {
				return nil
			}
			from := w.s.Offset()
			err := w.s.Unique(w.s.Skip)
			w.Metadata = bytes.Clone(b[from:w.s.Offset()])
			return err
		}
		return w.s.Skip()
	})
	if err == nil {
		err = w.s.End()
	}
	if err == nil && !w.found {
		err = wire.Errorf(w.format, "weight_map", 0, tensor.ErrCorrupt, "the JSON text is no index of shards: it has no weight_map")
	}
	return err
}

// add parses an entry of the weight map.
func (w *Map) add(name []byte, at, most int) error {
	if len(w.entries) >= most {
		return wire.Errorf(w.format, "weight_map", int64(at), tensor.ErrLimit, "more than %d tensors", most)
	}
	said, err := w.s.Text()
	if err != nil {
		return err
	}
	number, ok := w.numbers[string(said)]
	if !ok {
		shard := string(said)
		switch {
		case !fs.ValidPath(shard) || shard == ".":
			return wire.Errorf(w.format, "weight_map "+strconv.Quote(string(name)), int64(at), tensor.ErrCorrupt, "%q is no file below the directory of the index", shard)
		case len(w.Shards) == maxShards:
			return wire.Errorf(w.format, "weight_map", int64(at), tensor.ErrLimit, "more than %d shards", maxShards)
		}
		number = len(w.Shards)
		w.Shards, w.first = append(w.Shards, shard), append(w.first, at)
		w.numbers[shard] = number
	}
	w.entries = append(w.entries, mapped{name, at, number})
	w.names += len(name)
	return nil
}

// join opens all shards and lists the tensors of the map.
func (m *Model) join(w *Map, dir driver.Dir, x *driver.Index, o *driver.Options) (unlisted int, err error) {
	total := 0
	shards := make([]driver.Index, len(w.Shards))
	for i, name := range w.Shards {
		y := &shards[i]
		y.Count(o.Memory)
		defer y.Uncount()
		src, space, err := w.open(dir, name, w.first[i], o)
		if err == nil {
			err = wire.InFile(m.Open(src, space, y), src.Path())
		}
		if full := y.Err(); full != nil {
			err = wire.Error(w.format, "tensors", 0, full)
		}
		if err != nil {
			return 0, err
		}
		total += y.Len()
	}
	x.Grow(len(w.entries), w.names, 4*len(w.entries))
	for _, e := range w.entries {
		field := fmt.Sprintf("tensor %q", e.name)
		y := &shards[e.shard]
		i, ok := y.LookupBytes(e.name)
		if !ok {
			return 0, wire.Errorf(w.format, field, int64(e.at), tensor.ErrCorrupt, "shard %q has no tensor of that name", w.Shards[e.shard])
		}
		if err := x.Add(copied(y, i, e.name)); err != nil {
			return 0, wire.Error(w.format, field, int64(e.at), err)
		}
		if m.Placed != nil {
			m.Placed(e.shard, i)
		}
	}
	return total - x.Len(), nil
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

// open opens the shard called name; at is the offset of the name in the index.
func (w *Map) open(dir driver.Dir, name string, at int, o *driver.Options) (driver.Source, driver.Space, error) {
	if err := o.Context.Err(); err != nil {
		return nil, 0, err
	}
	src, space, err := dir.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", tensor.ErrNotFound, err)
		}
		err = wire.Error(w.format, fmt.Sprintf("shard %q", name), int64(at), err)
	}
	return src, space, err
}
