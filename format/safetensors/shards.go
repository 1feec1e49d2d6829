package safetensors

import (
	"cmp"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/internal/wire"
)

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
	w, err := shards.Parse(formatName, b, o.MaxTensors)
	if err != nil {
		return err
	}
	t.metadata = w.Metadata
	f.texts = append(f.texts, t)
	dir, err := src.Dir()
	if err != nil {
		return wire.Error(formatName, "weight_map", 0, err)
	}
	f.shards = w.Shards
	left := *o
	left.MaxHeaderBytes -= src.Size()
	f.unlisted, err = w.Join(dir, x, &left, f.openShard, nil)
	return err
}

// orForeign says what a shard is that begins with head, if it is known not to be one, such as what Git LFS left in its place.
func orForeign(err error, head []byte, name string) error {
	what := cmp.Or(foreign.Name(head, name), foreign.Guess(head))
	if what == "" || (fileFormat{}).Detect(head, 0) || !foreign.Blamed(err) {
		return err
	}
	return wire.Error(formatName, "header length", 0, foreign.Error(what, err))
}

// openShard reads the header of a shard. Headers of all shards together stay within the limit.
func (f *parsed) openShard(src driver.Source, space driver.Space, y *driver.Index, o *driver.Options) error {
	head, err := driver.Prefix(src, driver.SniffLen)
	if err == nil {
		err = f.parseFile(src, head, space, y, o)
	}
	if err != nil {
		return inFile(orForeign(err, head, src.Path()), src.Path())
	}
	o.MaxHeaderBytes -= f.texts[len(f.texts)-1].len - lengthSize
	return nil
}
