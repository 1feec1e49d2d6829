package safetensors

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
)

// weightMap is what the index of a sharded model says.
type weightMap struct {
	s       jsonmeta.Scanner
	text    *text
	found   bool
	entries []mapped
	names   int            // bytes of them
	shards  []string       // in the order in which they appear
	first   []int          // where the first tensor of each is
	numbers map[string]int // of the shards
}

// mapped is a tensor and its shard.
type mapped struct {
	name  []byte
	at    int
	shard int
}

// parseIndex reads the index of a sharded model, and all shards.
func (f *parsed) parseIndex(src driver.Source, x *driver.Index, o *driver.Options) error {
	if src.Size() > min(maxHeader, o.MaxHeaderBytes) {
		return wire.Errorf(formatName, "index", 0, format.ErrLimit, "%d bytes, the limit is %d", src.Size(), min(maxHeader, o.MaxHeaderBytes))
	}
	t := text{src: src, len: src.Size()}
	b, done, err := t.read(o.Memory)
	if err != nil {
		return err
	}
	defer done()
	w := weightMap{s: jsonmeta.NewScanner(b, strict), text: &t, numbers: make(map[string]int)}
	if err := w.parse(b, o.MaxTensors); err != nil {
		return located(err, "weight_map", 0)
	}
	f.texts = append(f.texts, t)
	return f.join(&w, src, x, o)
}

// parse reads the index. Keys that mean nothing here are ignored.
func (w *weightMap) parse(b []byte, most int) error {
	err := w.s.Object(func(key []byte, at int) error {
		switch string(key) {
		case "weight_map":
			if w.found {
				return &jsonmeta.Error{Offset: int64(at), Reason: "weight_map occurs twice"}
			}
			w.found = true
			return w.s.Object(func(name []byte, at int) error { return w.add(name, at, most) })
		case "metadata":
			if w.text.metadata != nil {
				return &jsonmeta.Error{Offset: int64(at), Reason: "metadata occurs twice"}
			}
			if w.s.Null() {
				return nil
			}
			from := w.s.Offset()
			err := w.s.Unique(w.s.Skip)
			w.text.metadata = bytes.Clone(b[from:w.s.Offset()])
			return err
		}
		return w.s.Skip()
	})
	if err == nil {
		err = w.s.End()
	}
	if err == nil && !w.found {
		err = wire.Errorf(formatName, "weight_map", 0, format.ErrCorrupt, "the JSON text is no index of shards: it has no weight_map")
	}
	return err
}

// add reads an entry of the weight map.
func (w *weightMap) add(name []byte, at, most int) error {
	if len(w.entries) >= most {
		return wire.Errorf(formatName, "weight_map", int64(at), format.ErrLimit, "more than %d tensors", most)
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
			return wire.Errorf(formatName, "weight_map "+strconv.Quote(string(name)), int64(at), format.ErrCorrupt, "%q is no file below the directory of the index", shard)
		case len(w.shards) == maxShards:
			return wire.Errorf(formatName, "weight_map", int64(at), format.ErrLimit, "more than %d shards", maxShards)
		}
		number = len(w.shards)
		w.shards, w.first = append(w.shards, shard), append(w.first, at)
		w.numbers[shard] = number
	}
	w.entries = append(w.entries, mapped{name, at, number})
	w.names += len(name)
	return nil
}

// join lists the tensors of the weight map in its order.
func (f *parsed) join(w *weightMap, src driver.Source, x *driver.Index, o *driver.Options) error {
	dir, err := src.Dir()
	if err != nil {
		return wire.Error(formatName, "weight_map", 0, err)
	}
	f.shards = w.shards
	left, total := *o, 0
	left.MaxHeaderBytes -= src.Size()
	shards := make([]driver.Index, len(w.shards))
	for i, name := range w.shards {
		shards[i].Count(o.Memory)
		defer shards[i].Uncount()
		err := f.openShard(dir, name, w.first[i], &shards[i], &left)
		if full := shards[i].Err(); full != nil {
			err = wire.Error(formatName, "tensors", 0, full)
		}
		if err != nil {
			return err
		}
		total += shards[i].Len()
		left.MaxTensors = o.MaxTensors - total
	}
	x.Grow(len(w.entries), w.names, 4*len(w.entries))
	for _, m := range w.entries {
		y := &shards[m.shard]
		i, ok := y.LookupBytes(m.name)
		if !ok {
			return wire.Errorf(formatName, tensorField(m.name), int64(m.at), format.ErrCorrupt, "shard %q has no tensor of that name", w.shards[m.shard])
		}
		space, off, size := y.Place(i)
		t := driver.Tensor{Name: m.name, DType: y.DType(i), Shape: y.Shape(i), Space: space, Offset: off, Size: size, Encoding: y.Encoding(i)}
		if !x.Add(&t) {
			return wire.Errorf(formatName, tensorField(m.name), int64(m.at), format.ErrCorrupt, "the name occurs twice")
		}
	}
	f.unlisted = total - x.Len()
	return nil
}

// orForeign says what a shard is that begins with head, if it is known not to be one, such as what Git LFS left in its place.
func orForeign(err error, head []byte, name string) error {
	what := cmp.Or(foreign.Name(head, name), foreign.Guess(head))
	if what == "" || (fileFormat{}).Detect(head, 0) || !foreign.Blamed(err) {
		return err
	}
	return wire.Error(formatName, "header length", 0, foreign.Error(what, err))
}

// openShard reads the header of a shard, which the index names at an offset. Headers and tensors of all shards together
// stay within the limits.
func (f *parsed) openShard(dir driver.Dir, name string, at int, y *driver.Index, o *driver.Options) error {
	if err := o.Context.Err(); err != nil {
		return err
	}
	src, space, err := dir.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", format.ErrNotFound, err)
		}
		return wire.Error(formatName, fmt.Sprintf("shard %q", name), int64(at), err)
	}
	head, err := driver.Prefix(src, driver.SniffLen)
	if err == nil {
		err = f.parseFile(src, head, space, y, o)
	}
	if err != nil {
		return inFile(orForeign(err, head, name), src.Path())
	}
	o.MaxHeaderBytes -= f.texts[len(f.texts)-1].len - lengthSize
	return nil
}
