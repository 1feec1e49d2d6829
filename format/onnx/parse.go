package onnx

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is an open file besides its index.
type parsed struct {
	src     driver.Source
	index   *driver.Index
	o       *driver.ParseOptions
	s       *protobuf.Source // the file, during parse
	head    *head            // of the current tensor
	graph   bool             // the graph was found
	inside  bool             // it is being read
	records []record         // by tensor
	files   external.Files
	model   model
	decoded *schema.Graph
}

// record locates the message of a tensor in the file.
type record struct {
	at, end int64
	sparse  bool
	more    bool // its message has fields that only Native has
}

// newParsed returns a parser of s.
func newParsed(s *protobuf.Source, x *driver.Index, o *driver.ParseOptions) *parsed {
	f := &parsed{s: s, index: x, o: o, head: newHead()}
	s.Tally = protobuf.NewTally(o.Memory.Room(s.Size))
	s.Watch = f.watch
	return f
}

// lists holds memory for records, whose number is known only at the end.
var lists = sync.Pool{New: func() any { return new([]record) }}

// Parse implements driver.Driver. It reads everything but the data of initializers and external
// files.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	s := protobuf.OpenFile(src, 0, src.Size())
	defer s.Close()
	f := newParsed(s, x, o)
	list := lists.Get().(*[]record)
	f.src = src
	f.records = (*list)[:0]
	err := f.readModel()
	*list = f.records
	f.records = slices.Clone(f.records)
	lists.Put(list)
	switch {
	case src.Size() == 0:
		err = protobuf.Defectf(0, tensor.ErrTruncated, "the file is empty")
	case err == nil && !f.graph:
		err = protobuf.InField("graph", protobuf.Defectf(0, tensor.ErrTruncated, "missing: the file was cut short, or is no model"))
	case err == nil:
		err = o.Memory.Reserve(s.Tally.Cost)
	}
	if d, ok := err.(*protobuf.Defect); ok {
		err = wire.Error(formatName, cmp.Or(d.Path, "model"), d.At, d.Err)
	}
	if err != nil {
		return nil, err
	}
	f.s = nil
	return &driver.Parsed{
		Own:      f,
		Notes:    f.notes(),
		Metadata: f.model.metadata(),
		Graph:    f.decoded,
		Native:   f.Native,
		RecordAt: func(i int) int64 { return f.records[i].at },
		Load:     f.Load,
		Sums:     sums,
	}, nil
}

// readModel reads the model from top to bottom.
func (f *parsed) readModel() error {
	m := &f.model
	inside := false
	w := f.s.Walk(modelMsg, f.s.All(), 1)
	for w.Next() {
		switch {
		case w.Num != 7:
			m.field(f.s, &w)
		case f.graph:
			w.Err = protobuf.Corruptf("", w.At, "it occurs twice")
		default:
			w.Err = f.readGraph(w.Field)
		}
		inside = w.Err != nil
	}
	if d, ok := w.Err.(*protobuf.Defect); ok && d.Short && !inside && (d.Path != "" || w.At > 0) {
		d.Err = fmt.Errorf("%w: %s", tensor.ErrTruncated, strings.TrimPrefix(d.Err.Error(), tensor.ErrCorrupt.Error()+": "))
	}
	if w.Err != nil {
		return w.Err
	}
	f.index.Version = "unknown"
	if v := m.fields[irVersion]; v != nil {
		f.index.Version = fmt.Sprint(v)
	}
	return onnxgraph.Distinct(modelMsg, 14, m.props, func(e *stringEntry) string { return e.key }, 0)
}

// add lists the tensor in a field.
func (f *parsed) add(t *driver.Tensor, msg protobuf.Field, r record) error {
	if err := checkName(t.Name, msg.At); err != nil {
		return err
	}
	if f.index.Add(t) != nil {
		return protobuf.Corruptf("name", msg.At, "the name %q occurs twice", t.Name)
	}
	r.at = msg.Start
	r.end = msg.End
	f.records = append(f.records, r)
	return nil
}

// external locates external data.
func (f *parsed) external(h *head, at int64) error {
	space, size, err := f.files.Find(f.src, h.ext.location, h.ext.length < 0)
	if err != nil {
		return err
	}
	h.ext.space = space
	if h.ext.length < 0 && size >= 0 {
		// To the end of the file.
		n := size - h.ext.offset
		elems, _ := tensor.Shape(h.dims).Elems()
		if n < 0 {
			return protobuf.InField("offset", protobuf.Defectf(at, tensor.ErrTruncated, "%d, the file has %d bytes", h.ext.offset, size))
		}
		return protobuf.InField("length", h.holds(n, elems, at))
	}
	return nil
}

// propertyBytes is the memory of a property besides its texts: in the list of properties, which
// doubles as it grows, in the metadata, and in a sorted list of keys.
const propertyBytes = 3*32 + 48 + 16

// field takes a field of the model, or only checks it.
func (m *model) field(s *protobuf.Source, w *protobuf.Walk) {
	switch w.Num {
	case irVersion, modelVersion:
		m.fields[w.Num] = int64(w.Val)
	case 2, 3, 4, 6:
		if w.Err = s.Tally.Charge(w.At, w.End-w.Start); w.Err == nil {
			var text []byte
			text, w.Err = s.Bytes(w.Start, w.End)
			m.fields[w.Num] = string(text)
		}
	case 8:
		var set schema.OperatorSet
		w.Err = s.Read(opsetMsg, w.Field, 2, &protobuf.Into{1: &set.Domain, &set.Version})
		m.opsets = append(m.opsets, set)
	case 14:
		if w.Err = s.Tally.Charge(w.At, propertyBytes+w.End-w.Start); w.Err == nil {
			var e stringEntry
			w.Err = s.Read(entryMsg, w.Field, 2, &protobuf.Into{1: &e.key, &e.value})
			m.props = append(m.props, e)
		}
	default:
		w.Check()
	}
}
