package format

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// newWriter starts writing a model: to out or, if that is nil, to path.
func newWriter(d driver.Driver, path string, out io.Writer, s *schema.Schema, o *WriteOptions) (*Writer, error) {
	c, err := checkWriteOptions(o, d)
	if err != nil {
		return nil, wire.Place(err, driverName(d), path, "")
	}
	w := &Writer{driver: d, path: path, o: c, lay: layoutOptions(c, path), format: driverName(d)}
	w.progress.Report = c.Progress
	err = w.attempt(func() error { return w.explain(w.begin(out, s)) })
	if err != nil {
		return nil, err
	}
	w.written = make([]bool, len(w.schema.Tensors))
	w.in.Moved = w.progress.Done
	if w.order == nil {
		w.order = numbers(len(w.schema.Tensors))
	}
	return w, nil
}

// begin copies the schema, lays the file out and starts writing it.
func (w *Writer) begin(out io.Writer, p *schema.Schema) error {
	err := w.complete(p)
	if err != nil {
		return err
	}
	if w.o.MaxShard == 0 {
		w.layout, err = w.layoutOf(w.schema)
		if err != nil {
			return err
		}
	}
	switch {
	case out != nil:
		err = w.stream(out)
	case w.path == "":
		err = wire.Error(w.format, "writer", -1, fs.ErrInvalid)
	default:
		err = w.create()
	}
	if err != nil {
		return err
	}
	return w.o.Context.Err()
}

// create starts writing to w.path.
func (w *Writer) create() error {
	if w.o.MaxShard > 0 {
		return w.createShards()
	}
	w.paths = func() []string { return []string{w.path} }
	if w.layout.Files != nil {
		return w.createDirectory()
	}
	if w.layout.External != nil {
		return w.createExternal()
	}
	if d, ok := w.driver.(driver.Splitter); ok {
		x := newShardIndex(d, w.driver.Describe().Extensions[0], w.path)
		if x.places.File == w.path {
			return w.createAlone(x)
		}
	}
	f, err := disk.Create(w.path)
	if err != nil {
		return err
	}
	f.NoSync = w.o.NoSync
	w.commit = f.Publish
	w.abort = f.Abort
	return w.start(f, w.layout.Ordered)
}

// stream starts writing to out. It streams if the format and the schema allow it; otherwise it
// assembles the file in a spool first.
func (w *Writer) stream(out io.Writer) error {
	if w.o.MaxShard > 0 {
		return driver.OptionError(w.format, "MaxShard", "only Create makes several files")
	}
	streams := w.layout.Streams || w.layout.Encode == nil && w.layout.Late == nil
	if w.o.Spool == SpoolNever || streams {
		return w.start(target.NewStream(out), true)
	}
	s, remove, err := newSpool(w.o.Spool)
	if err != nil {
		return err
	}
	w.commit = func() error { return target.CopyAll(out, s) }
	w.abort = remove
	return w.start(s, w.layout.Ordered)
}

// mostBytes limits the size of all tensors, so that no offset in a file overflows.
const mostBytes = 1 << 61

// complete copies the schema, fills in all sizes and builds the index of names. It refuses bad or
// repeated names, unknown dtypes, overflowing shapes and losses that are not accepted. The driver
// may read the copy until Close.
func (w *Writer) complete(p *schema.Schema) (err error) {
	if p == nil {
		p = &schema.Schema{}
	}
	w.schema = &schema.Schema{
		Metadata: slices.Clone(p.Metadata), Tensors: make([]tensor.Info, len(p.Tensors)),
		Graph: p.Graph,
		Docs:  slices.Clone(p.Docs), Native: p.Native, Part: p.Part, Parts: p.Parts,
	}
	take := w.driver.Describe().TakeValue
	if take == nil {
		take = schema.Number
	}
	for i := range w.schema.Metadata {
		w.schema.Metadata[i].Value = take(w.schema.Metadata[i].Value)
	}
	n := len(p.Tensors)
	w.index.Grow(n, 32*n, 2*n) // room for usual names and shapes
	total := int64(0)
	entry := driver.Tensor{}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		size, err := w.add(t, &entry)
		if err != nil {
			return w.schemaError(t.Name, err)
		}
		total += size
		if uint64(total) > mostBytes {
			return w.schemaError(t.Name, fmt.Errorf("%w: the tensors have more than 2^61 bytes", tensor.ErrLimit))
		}
		w.schema.Tensors[i] = tensor.Info{
			Name: t.Name, DType: t.DType, Shape: w.index.Shape(i), Offset: -1, Size: size, Stored: size,
			Quant: t.Quant.Clone(), Encoding: t.Encoding,
		}
	}
	w.progress.Expect(total)
	w.schema, err = fit(w.driver, w.schema, w.lay, w.o.AcceptLoss)
	return err
}

// add adds a tensor of the schema to the index, and returns its size in bytes. entry is memory for
// that.
func (w *Writer) add(t *tensor.Info, entry *driver.Tensor) (size int64, err error) {
	if e := t.Encoding; e != nil && e.BlockBytes <= 0 && t.Size >= 0 {
		size = t.Size // formats define the sizes of such types
	} else {
		size, err = t.ByteSize()
		if err != nil {
			return 0, err
		}
	}
	if err := tensor.CheckName(t.Name); err != nil {
		return 0, err
	}
	if _, isTaken := w.index.Lookup(t.Name); isTaken {
		return 0, errors.New("two tensors of the schema have this name") // which is not ErrCorrupt, as in a file
	}
	entry.Name = append(entry.Name[:0], t.Name...)
	entry.Shape = t.Shape
	return size, w.index.Add(entry)
}
