package onnx

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is what is kept of an open file beyond its index, all in private memory.
type parsed struct {
	src     driver.Source
	index   *driver.Index
	o       *driver.Options
	head    section  // the model but for the graph
	graph   section  // the graph but for its initializers
	records []record // by tensor
	files   map[string]externalFile
	unknown map[string]*tensor.Encoding
	model   model
	was     *parsed // what is read is compared with it, and neither listed nor looked for
	same    int     // tensors that were compared
}

// record is where the message of a tensor is: in the file, for a sparse one within the
// graph section.
type record struct {
	at, end int64
	sparse  bool
	more    bool // its message has fields that only Native has
}

// externalFile is a file of external data.
type externalFile struct {
	space driver.Space
	size  int64 // -1 until somebody asked, or when it cannot be opened
}

// section holds the fields of a message that were kept, one after the other.
type section struct {
	protobuf.Source
	cuts  []cut
	gaps  []span   // fields of the message that are not known, which stay in the file
	parts [][]byte // while the file is scanned: Win, which is no longer than it must be
}

// span is a part of the file.
type span struct{ at, end int64 }

// skip remembers where a field is that is not known. Neighbors are one span.
func (c *section) skip(f *protobuf.Field, memory *driver.Memory) error {
	if last := len(c.gaps) - 1; last >= 0 && c.gaps[last].end == f.At {
		c.gaps[last].end = f.End
		return nil
	}
	if err := memory.Reserve(spanBytes); err != nil {
		return &protobuf.Defect{At: f.At, Err: err}
	}
	c.gaps = append(c.gaps, span{f.At, f.End})
	return nil
}

const spanBytes = 32 // in a list that grows

// cut is a place where fields that are not neighbors in the file meet.
type cut struct{ at, file int64 }

// keep appends a field.
func (c *section) keep(s *protobuf.Source, f *protobuf.Field, most int64, memory *driver.Memory) error {
	n := f.End - f.At
	if n > most-c.Size {
		return protobuf.Defectf(f.At, tensor.ErrLimit, "more than %d bytes that are not data of tensors", most)
	}
	if err := memory.Reserve(n); err != nil {
		return &protobuf.Defect{At: f.At, Err: err}
	}
	if c.fileAt(c.Size) != f.At || len(c.cuts) == 0 {
		c.cuts = append(c.cuts, cut{c.Size, f.At})
	}
	last := len(c.parts) - 1
	if last < 0 || n > int64(cap(c.parts[last])-len(c.parts[last])) {
		c.parts = append(c.parts, make([]byte, 0, max(n, min(c.Size, mostPart), leastPart)))
		last++
	}
	c.Size += n
	return s.Keep(&c.parts[last], f)
}

const leastPart, mostPart = 1 << 10, 256 << 10

// join ends keeping.
func (c *section) join() {
	if len(c.parts) == 1 {
		c.Win = slices.Clip(c.parts[0])
	} else {
		c.Win = bytes.Join(c.parts, nil)
	}
	c.parts = nil
}

// fileAt returns the offset in the file of one in the section.
func (c *section) fileAt(at int64) int64 {
	i, ok := slices.BinarySearchFunc(c.cuts, at, func(x cut, at int64) int { return cmp.Compare(x.at, at) })
	if !ok {
		i--
	}
	if i < 0 {
		return at
	}
	return c.cuts[i].file + at - c.cuts[i].at
}

// located turns a defect at an offset of the section into one of the file.
func (c *section) located(err error) error {
	if d, ok := err.(*protobuf.Defect); ok {
		return &protobuf.Defect{Path: d.Path, At: c.fileAt(d.At), Err: d.Err}
	}
	return err
}

// parse reads the structure: everything but the data of initializers and external files.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*parsed, error) {
	f := &parsed{src: src, index: x, o: o, files: map[string]externalFile{}, unknown: map[string]*tensor.Encoding{}}
	err := f.read()
	if d, ok := err.(*protobuf.Defect); ok {
		if d.Path == "" {
			d.Path = "model"
		}
		return nil, wire.Error(formatName, d.Path, d.At, d.Err)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (f *parsed) read() error {
	if f.src.Size() == 0 {
		return protobuf.InField("model", protobuf.Defectf(0, tensor.ErrTruncated, "the file is empty"))
	}
	if err := f.scan(); err != nil {
		return err
	}
	if err := f.head.located(f.readModel()); err != nil {
		return err
	}
	if err := protobuf.InField("graph", f.graph.located(f.readGraph())); err != nil {
		return err
	}
	return nil
}

var lists wire.Pool[record]

// scan walks the file once: it lists the initializers and keeps the rest.
func (f *parsed) scan() error {
	list := lists.Get()
	f.records = *list
	defer func() {
		*list = f.records
		f.records = lists.Done(list)
		f.head.join()
		f.graph.join()
	}()
	most := f.o.MaxHeaderBytes
	w := &protobuf.Window{}
	w.Open(f.src, 0, f.src.Size(), most)
	defer w.Close()
	s := &protobuf.Source{Size: f.src.Size(), From: w}
	h := &head{}
	found, inside := false, false
	err := s.EachChecked(modelMsg, protobuf.Field{End: s.Size}, func(fl protobuf.Field) (err error) {
		inside = true
		defer func() { inside = err != nil }()
		switch {
		case fl.Num == 7:
			if found {
				return protobuf.Defectf(fl.At, tensor.ErrCorrupt, "it occurs twice")
			}
			found = true
			return s.EachChecked(graphMsg, fl, func(g protobuf.Field) error {
				switch {
				case g.Num == 5:
					return f.initializer(s, h, &g)
				case graphMsg.Known(g.Num) != nil:
					return f.graph.keep(s, &g, most-f.head.Size, f.o.Memory)
				}
				return f.graph.skip(&g, f.o.Memory)
			})
		case modelMsg.Known(fl.Num) != nil:
			return f.head.keep(s, &fl, most-f.graph.Size, f.o.Memory)
		}
		return f.head.skip(&fl, f.o.Memory)
	})
	if d, ok := err.(*protobuf.Defect); ok && d.Short && !inside && (d.Path != "" || f.head.Size > 0) {
		d.Err = fmt.Errorf("%w: %s", tensor.ErrTruncated, strings.TrimPrefix(d.Err.Error(), tensor.ErrCorrupt.Error()+": "))
	}
	if err == nil && !found {
		err = protobuf.InField("graph", protobuf.Defectf(0, tensor.ErrTruncated, "missing: the file was cut short, or is no model"))
	}
	return err
}

// initializer lists a tensor of the graph.
func (f *parsed) initializer(s *protobuf.Source, h *head, msg *protobuf.Field) error {
	h.reset()
	if err := h.read(s, msg.Start, msg.End, 3); err != nil {
		return err
	}
	if err := h.check(msg.At); err != nil {
		return err
	}
	t := driver.Tensor{Size: h.size, Offset: h.raw.Start}
	switch {
	case h.location == 1:
		if err := f.external(h, msg.At, &t); err != nil {
			return protobuf.InField("external_data", err)
		}
	case h.list != 0:
		t.Loaded, t.Offset = true, -1
	}
	t.DType, t.Encoding = dtypeOf(h.code), h.encoding(f.unknown)
	return f.add(h.name, h.dims, &t, record{at: msg.Start, end: msg.End, more: h.more}, msg.At)
}

// add lists a tensor. at is the offset for errors.
func (f *parsed) add(name []byte, dims []int64, t *driver.Tensor, r record, at int64) error {
	if len(f.records) >= f.o.MaxTensors {
		return protobuf.Defectf(at, tensor.ErrLimit, "more than %d tensors", f.o.MaxTensors)
	}
	if err := driver.CheckName(name); err != nil {
		return protobuf.InField("name", &protobuf.Defect{At: at, Err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	t.Name = name
	if f.was != nil {
		t.Shape = dims
		return f.compare(t, r, at)
	}
	t.Shape = f.index.Dims(len(dims))
	copy(t.Shape, dims)
	if f.index.Add(t) != nil {
		return protobuf.InField("name", protobuf.Defectf(at, tensor.ErrCorrupt, "the name %q occurs twice", name))
	}
	f.records = append(f.records, r)
	return nil
}

// external says where external data is.
func (f *parsed) external(h *head, at int64, t *driver.Tensor) error {
	x, err := f.file(h.ext.location, h.ext.length < 0)
	if err != nil {
		return err
	}
	if h.ext.length < 0 && x.size >= 0 {
		// To the end of the file.
		n := x.size - h.ext.offset
		elems, _ := tensor.Shape(h.dims).Elems()
		switch {
		case n < 0:
			return protobuf.InField("offset", protobuf.Defectf(at, tensor.ErrTruncated, "%d, the file has %d bytes", h.ext.offset, x.size))
		case h.sized() && n != h.size || !h.sized() && (n == 0) != (elems == 0):
			return protobuf.InField("length", protobuf.Defectf(at, tensor.ErrCorrupt, "not given, and to the end of the file there are %d bytes: the tensor takes %d", n, h.size))
		}
		h.size = n
	}
	t.Space, t.Offset, t.Size = x.space, h.ext.offset, h.size
	return nil
}

// file returns the external file at a location. It is declared when it is first met, and
// opened when one of its tensors is used, unless its size is wanted.
func (f *parsed) file(location []byte, sized bool) (externalFile, error) {
	x, ok := f.files[string(location)]
	if ok && (!sized || x.size >= 0 || f.was != nil) {
		return x, nil
	}
	if f.was != nil {
		return x, protobuf.Defectf(0, tensor.ErrCorrupt, "external data %.200q was not there", location)
	}
	x.size = -1
	dir, _ := f.src.Dir() // without one, the use of the file is the error
	name := string(location)
	if sized && name[len(name)-1] != '/' {
		if src, space, err := dir.Open(name); err == nil {
			x = externalFile{space, src.Size()}
			f.files[name] = x
			return x, nil
		}
	}
	var err error
	if x.space, err = dir.Declare(name); err == nil {
		f.files[name] = x
	}
	return x, err
}

// readModel reads all but the graph.
func (f *parsed) readModel() error {
	s := &f.head.Source
	s.Tally = protobuf.NewTally(f.o.MaxTensors)
	if err := s.Check(modelMsg, 0, s.Size, 1); err != nil {
		return err
	}
	s.Checked, s.Tally = true, nil
	if err := (&checker{f: f, s: s}).declare(modelMsg, protobuf.Field{End: s.Size}); err != nil {
		return err
	}
	n, err := s.Cost(modelMsg, protobuf.Field{End: s.Size}, protobuf.AsMessage)
	if err == nil {
		err = f.o.Memory.Build(n, s.Size)
	}
	if err != nil {
		return protobuf.InField("model", &protobuf.Defect{Err: err})
	}
	if err := s.Merge(modelMsg, &f.model, protobuf.Field{End: s.Size}); err != nil {
		return err
	}
	f.index.Version = "unknown"
	if v := f.model.irVersion; v != nil {
		f.index.Version = fmt.Sprint(*v)
	}
	keys := make([]string, len(f.model.props))
	for i, p := range f.model.props {
		keys[i] = p.key
	}
	slices.Sort(keys)
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			return protobuf.InField("metadata_props", protobuf.Defectf(0, tensor.ErrCorrupt, "the key %.200q occurs twice", keys[i]))
		}
	}
	return nil
}

// readGraph checks the graph and lists its sparse initializers.
func (f *parsed) readGraph() error {
	s := &f.graph.Source
	s.Tally = protobuf.NewTally(f.o.MaxTensors)
	if err := s.Check(graphMsg, 0, s.Size, 2); err != nil {
		return err
	}
	s.Checked, s.Tally = true, nil
	c := &checker{f: f, s: s}
	return c.graph(protobuf.Field{End: s.Size}, true)
}

// Verify implements driver.Parsed: a structure that changed since it was parsed is
// found. The format has no sums.
func (f *parsed) Verify(v driver.Verification) error {
	v.Section("structure", "")
	kept := f.head.Size + f.graph.Size
	if err := f.o.Memory.Reserve(kept); err != nil {
		return wire.Error(formatName, "model", 0, err)
	}
	defer f.o.Memory.Release(kept)
	o := *f.o
	o.Memory = nil
	again := &parsed{src: f.src, o: &o, files: f.files, unknown: map[string]*tensor.Encoding{}, was: f}
	changed := wire.Errorf(formatName, "model", 0, tensor.ErrCorrupt, "changed since the file was opened")
	if err := again.scan(); err != nil {
		if _, ok := err.(*protobuf.Defect); ok {
			return changed
		}
		return err
	}
	if !bytes.Equal(again.head.Win, f.head.Win) || !bytes.Equal(again.graph.Win, f.graph.Win) ||
		!slices.Equal(again.head.gaps, f.head.gaps) || !slices.Equal(again.graph.gaps, f.graph.gaps) {
		return changed
	}
	dense := slices.IndexFunc(f.records, func(r record) bool { return r.sparse })
	if dense < 0 {
		dense = len(f.records)
	}
	if again.same != dense {
		return changed
	}
	return nil
}

// RecordAt implements driver.Parsed.
func (f *parsed) RecordAt(i int) int64 { return f.records[i].at }

// compare looks whether the next tensor is as it was.
func (f *parsed) compare(t *driver.Tensor, r record, at int64) error {
	i := f.same
	if i == len(f.was.records) || f.was.records[i] != r || !f.was.index.Is(i, t) {
		return protobuf.Defectf(at, tensor.ErrCorrupt, "tensor %d changed", i)
	}
	f.same++
	return nil
}
