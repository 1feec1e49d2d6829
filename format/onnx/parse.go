package onnx

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// parsed holds the structure of an open file besides its index, in private memory.
type parsed struct {
	src       driver.Source
	index     *driver.Index
	o         *driver.Options
	structure section        // the model but for the initializers of its graph
	graph     protobuf.Field // in structure
	records   []record       // by tensor
	files     map[string]externalFile
	unknown   map[string]*tensor.Encoding
	model     model
	decoded   *driver.Graph
}

// record locates the message of a tensor in the file, or in the structure if it is sparse.
type record struct {
	at, end int64
	sparse  bool
	more    bool // its message has fields that only Native has
}

// externalFile is a file of external data.
type externalFile struct {
	space driver.Space
	size  int64 // -1 if unknown, or if the file cannot be opened
}

// section holds consecutive fields of the file.
type section struct {
	protobuf.Source
	cuts []cut
}

// cut is a place in a section where the file has a gap.
type cut struct{ at, file int64 }

// add appends bytes that are at an offset of the file.
func (c *section) add(b []byte, file int64, m *driver.Memory) error {
	if len(b) > cap(c.Win)-len(c.Win) {
		had := cap(c.Win)
		win := slices.Grow(c.Win, max(len(b), leastPart))
		if err := m.Reserve(int64(cap(win) - had)); err != nil {
			return &protobuf.Defect{At: file, Err: err}
		}
		c.Win = win
	}
	if len(c.cuts) == 0 || c.fileAt(c.Size) != file {
		c.cuts = append(c.cuts, cut{c.Size, file})
	}
	c.Win = append(c.Win, b...)
	c.Size += int64(len(b))
	return nil
}

const leastPart = 1 << 10

// fileAt converts an offset in the section to one in the file.
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

// located converts the offset of an error from the section to the file.
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
		return nil, wire.Error(formatName, cmp.Or(d.Path, "model"), d.At, d.Err)
	}
	return f, err
}

func (f *parsed) read() error {
	if f.src.Size() == 0 {
		return protobuf.Defectf(0, tensor.ErrTruncated, "the file is empty")
	}
	if err := f.scan(); err != nil {
		return err
	}
	if err := f.structure.located(f.readModel()); err != nil {
		return err
	}
	return protobuf.InField("graph", f.structure.located(f.readGraph()))
}

// lists holds memory for records, whose number is known only at the end.
var lists = sync.Pool{New: func() any { return new([]record) }}

// scan walks the file once: it lists the initializers and keeps the rest.
func (f *parsed) scan() error {
	list := lists.Get().(*[]record)
	f.records = (*list)[:0]
	defer func() {
		*list = f.records
		f.records = slices.Clone(f.records)
		lists.Put(list)
	}()
	s := protobuf.InFile(f.src, 0, f.src.Size())
	defer s.Close()
	found, inside := false, false
	w := s.Walk(modelMsg, s.All(), 1)
	for w.Next() {
		switch {
		case w.Num != 7:
			w.Err = f.keep(s, &w.Field)
		case found:
			w.Err = protobuf.Defectf(w.At, tensor.ErrCorrupt, "it occurs twice")
		default:
			found = true
			w.Err = f.scanGraph(s, w.Field)
		}
		inside = w.Err != nil
	}
	err := w.Err
	if d, ok := err.(*protobuf.Defect); ok && d.Short && !inside && (d.Path != "" || f.structure.Size > 0) {
		d.Err = fmt.Errorf("%w: %s", tensor.ErrTruncated, strings.TrimPrefix(d.Err.Error(), tensor.ErrCorrupt.Error()+": "))
	}
	if err == nil && !found {
		err = protobuf.InField("graph", protobuf.Defectf(0, tensor.ErrTruncated, "missing: the file was cut short, or is no model"))
	}
	return err
}

// scanGraph does the same for the graph.
func (f *parsed) scanGraph(s *protobuf.Source, msg protobuf.Field) error {
	if err := f.structure.add(make([]byte, graphTag), msg.At, f.o.Memory); err != nil {
		return err
	}
	f.graph = protobuf.Field{At: f.structure.Size, Start: f.structure.Size}
	h := &head{}
	w := s.Walk(graphMsg, msg, 2)
	for w.Next() {
		if w.Num == graphSchema.Initializers {
			w.Err = f.initializer(s, h, w.Field)
		} else {
			w.Err = f.keep(s, &w.Field)
		}
	}
	f.graph.End = f.structure.Size
	tag := f.structure.Win[f.graph.Start-graphTag : f.graph.Start]
	tag[0] = 7<<3 | byte(protowire.BytesType)
	putLength(tag[1:], uint64(f.graph.End-f.graph.Start))
	return w.Err
}

// graphTag is the size of the tag and length of the graph in the structure.
const graphTag = 1 + 9

// keep appends a field to the structure.
func (f *parsed) keep(s *protobuf.Source, fl *protobuf.Field) error {
	if err := f.o.Memory.Structure(fl.End - fl.At); err != nil {
		return &protobuf.Defect{At: fl.At, Err: err}
	}
	b, err := s.Bytes(fl.At, fl.End)
	if err == nil {
		err = f.structure.add(b, fl.At, f.o.Memory)
	}
	return err
}

// initializer lists a tensor of the graph.
func (f *parsed) initializer(s *protobuf.Source, h *head, msg protobuf.Field) error {
	h.reset()
	if err := h.read(s, msg, 3); err != nil {
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
	if err := checkName(name, at); err != nil {
		return err
	}
	t.Name = name
	t.Shape = f.index.Dims(len(dims))
	copy(t.Shape, dims)
	if f.index.Add(t) != nil {
		return protobuf.InField("name", protobuf.Defectf(at, tensor.ErrCorrupt, "the name %q occurs twice", name))
	}
	f.records = append(f.records, r)
	return nil
}

// external locates external data.
func (f *parsed) external(h *head, at int64, t *driver.Tensor) error {
	x, err := f.file(h.ext.location, h.ext.length < 0)
	if err != nil {
		return err
	}
	if h.ext.length < 0 && x.size >= 0 {
		// To the end of the file.
		n := x.size - h.ext.offset
		elems, _ := tensor.Shape(h.dims).Elems()
		if n < 0 {
			return protobuf.InField("offset", protobuf.Defectf(at, tensor.ErrTruncated, "%d, the file has %d bytes", h.ext.offset, x.size))
		}
		if err := h.holds(n, elems, at); err != nil {
			return protobuf.InField("length", err)
		}
	}
	t.Space, t.Offset, t.Size = x.space, h.ext.offset, h.size
	return nil
}

// file returns the external file at a location. It is opened when one of its tensors is
// first used, or when its size is needed.
func (f *parsed) file(location []byte, sized bool) (externalFile, error) {
	x, ok := f.files[string(location)]
	if ok && (!sized || x.size >= 0) {
		return x, nil
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

// readModel reads everything except the graph.
func (f *parsed) readModel() error {
	s, m := &f.structure.Source, &f.model
	s.Tally = protobuf.NewTally(f.o.Memory.Room(s.Size))
	defer func() { s.Tally, s.Watch = nil, nil }()
	// A copy of the model has the data of tensors in functions and trainings inside.
	d := graphTensors{f: f, s: s}
	s.Watch, s.Watched = tensorMsg, d.declare
	props := s.Count(s.All())[14]
	if err := s.Tally.Charge(0, propertyBytes*int64(props)+s.Size); err != nil {
		return err
	}
	m.props = make([]stringEntry, 0, props)
	w := s.Walk(modelMsg, s.All(), 1)
	for w.Next() {
		m.field(s, &w)
	}
	if w.Err != nil {
		return w.Err
	}
	if err := f.o.Memory.Reserve(s.Tally.Cost); err != nil {
		return protobuf.InField("model", &protobuf.Defect{Err: err})
	}
	f.index.Version = "unknown"
	if v := m.fields[irVersion]; v != nil {
		f.index.Version = fmt.Sprint(v)
	}
	keys := make([]string, len(m.props))
	for i, p := range m.props {
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

// propertyBytes is the memory of a property besides its texts: here, in the metadata, and in a
// sorted list of keys.
const propertyBytes = 32 + 48 + 16

// field takes a field of the model, or only checks it.
func (m *model) field(s *protobuf.Source, w *protobuf.Walk) {
	switch w.Num {
	case irVersion, modelVersion:
		m.fields[w.Num] = int64(w.Val)
	case 2, 3, 4, 6:
		var text string
		w.Err = s.Str(&text, &w.Field)
		m.fields[w.Num] = text
	case 7: // the graph
	case 8:
		domain, _, version, err := readPair(s, opsetMsg, w.Field, 2)
		m.opsets, w.Err = append(m.opsets, opsets.Set{Domain: string(domain), Version: version}), err
	case 14:
		key, value, _, err := readPair(s, entryMsg, w.Field, 2)
		m.props, w.Err = append(m.props, stringEntry{string(key), string(value)}), err
	default:
		w.Check()
	}
}

// readPair reads a message of a text and a second text or number. The bytes are valid until the
// next read.
func readPair(s *protobuf.Source, m *protobuf.Message, msg protobuf.Field, level int) (key, text []byte, number int64, err error) {
	if _, err := s.Bytes(msg.Start, msg.End); err != nil { // both are in the window then
		return nil, nil, 0, err
	}
	w := s.Walk(m, msg, level)
	for w.Next() {
		switch {
		case w.Num == 1:
			key, w.Err = s.Bytes(w.Start, w.End)
		case w.Num == 2 && w.Typ == protowire.BytesType:
			text, w.Err = s.Bytes(w.Start, w.End)
		case w.Num == 2:
			number = int64(w.Val)
		}
	}
	return key, text, number, w.Err
}

// RecordAt implements driver.Parsed.
func (f *parsed) RecordAt(i int) int64 { return f.records[i].at }
