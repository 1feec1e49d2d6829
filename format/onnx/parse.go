package onnx

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is an open file besides its index.
type parsed struct {
	structure
	src     driver.Source // nil for a model that is written
	index   *driver.Index
	memory  *driver.Memory
	head    *head // of the current tensor
	room    messages.Room
	records []record // by tensor
	files   external.Files
	found   bool // the file has a graph
	outside bool // the data of a tensor within the graph, a function or a training is external
	fields  model
	decoded *schema.Graph
}

// record locates the message of a tensor in the file.
type record struct {
	at, end int64
	sparse  bool
}

// Parse implements driver.Driver. It reads everything but the data of initializers and external
// files.
func (fileFormat) Parse(
	src driver.Source, x *driver.Index, o *driver.ParseOptions,
) (*driver.Parsed, error) {
	if src.Size() == 0 {
		return nil, wire.Errorf(formatName, "model", 0, tensor.ErrTruncated, "the file is empty")
	}
	f := &parsed{src: src, index: x, memory: o.Memory, head: &head{}}
	model, graph, err := f.read()
	if err != nil {
		return nil, err
	}
	f.room.Most = o.Memory.Room(src.Size())
	err = f.decode(model, graph)
	if err != nil {
		return nil, err
	}
	err = o.Memory.Reserve(f.room.Cost)
	if err != nil {
		return nil, err
	}
	f.head = nil
	return &driver.Parsed{
		Own:      f,
		Notes:    f.notes(),
		Metadata: f.fields.metadata(),
		Graph:    f.decoded,
		Docs:     f.docs,
		Native:   f.Native,
		RecordAt: func(i int) int64 { return f.records[i].at },
		Load:     f.Load,
		Sums:     sums,
	}, nil
}

// read copies the messages into memory, checks them, and lists the tensors. Of several errors it
// returns the one at the lowest offset.
func (f *parsed) read() (model, graph messages.Message, err error) {
	f.model.Begin(f.memory)
	f.graph.Begin(f.memory)
	counts := messages.NewCounts()
	read := f.readFile(counts)
	f.records = slices.Clone(f.records) // without the room to grow
	err = f.model.Finish()
	if err != nil {
		f.graph.Drop()
		return model, graph, err
	}
	err = f.graph.Finish()
	if err != nil {
		return model, graph, err
	}
	counts.Around = 0
	model, badModel := table.Check(typeModel, f.model.Text(), counts)
	counts.Around = 1
	counts.Checked = 1<<initializer | 1<<sparseInitializer
	graph, badGraph := table.Check(typeGraph, f.graph.Text(), counts)
	return model, graph, messages.Lowest(f.placeModel(badModel), f.placeGraph(badGraph), read)
}

// readFile copies the messages into memory, and lists the tensors.
func (f *parsed) readFile(counts *messages.Counts) error {
	section := messages.OpenSection(f.src, 0, f.src.Size())
	defer section.Close()
	r := &reader{parsed: f, section: section, counts: counts}
	counts.Around = 2
	r.shell.Begin(f.memory)
	defer r.shell.Drop()
	err := r.readModel()
	p, ok := err.(*messages.Placed)
	if ok {
		return wire.Error(formatName, cmp.Or(p.Field, "model"), p.At, p.Err)
	}
	return err
}

// decode decodes what is not a tensor of the model.
func (f *parsed) decode(model, graph messages.Message) error {
	err := f.fields.decode(model, &f.room)
	if err != nil {
		return f.placeModel(err)
	}
	if !f.found {
		return wire.Errorf(formatName, "graph", 0, tensor.ErrTruncated,
			"missing: the file was cut short, or is no model")
	}
	f.index.Version = "unknown"
	if v := f.fields.values[irVersion]; v != nil {
		f.index.Version = fmt.Sprint(v)
	}
	err = f.decodeGraph(graph)
	if err != nil {
		return f.placeGraph(err)
	}
	return f.placeModel(f.declareTensors(typeModel, model))
}

// placeModel adds field and offset to an error about the model.
func (f *parsed) placeModel(err error) error {
	e, ok := err.(*messages.Error)
	if !ok {
		return err
	}
	name := table.Path(typeModel, f.model.Text(), e)
	return wire.Error(formatName, cmp.Or(name, "model"), f.model.At(e.At)+e.Skip, e.Err)
}

// placeGraph adds field and offset to an error about the graph.
func (f *parsed) placeGraph(err error) error {
	e, ok := err.(*messages.Error)
	if !ok {
		return err
	}
	name := strings.TrimSuffix("graph."+table.Path(typeGraph, f.graph.Text(), e), ".")
	return wire.Error(formatName, name, f.graph.At(e.At)+e.Skip, e.Err)
}

// decodeGraph decodes the graph. A graph with only initializers counts as none unless it has a doc.
func (f *parsed) decodeGraph(m messages.Message) error {
	d := &onnxgraph.Decoder{Dialect: &dialect, Room: f.room, Tensors: f}
	g, err := d.Decode(m)
	f.room = d.Room
	if err != nil {
		return err
	}
	if len(g.Nodes)+len(g.Inputs)+len(g.Outputs) == 0 && !hasDoc(m) {
		return nil
	}
	charged := f.room.Charge(0, 16*int64(f.index.Len()))
	if charged != nil {
		charged.Whole = true
		return charged
	}
	g.Initializers = f.index.Names()
	f.decoded = g
	return nil
}

// declareTensors declares the external files of the tensors in a message: a copy of the model has
// their data inside.
func (f *parsed) declareTensors(t messages.Type, m messages.Message) error {
	for c := m.Cursor(); c.Next(); {
		def := table.Field(t, &c)
		if def == nil || def.Kind != messages.Nested {
			continue
		}
		var err error
		if def.Of == typeTensor {
			err = f.declareTensor(c.At(), c.Message())
		} else {
			err = f.declareTensors(def.Of, c.Message())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// declareTensor checks a tensor in the field at an offset, if its data is external.
func (f *parsed) declareTensor(at int64, m messages.Message) error {
	h := f.head
	err := h.read(m)
	if err != nil || h.location != 1 {
		return err
	}
	f.outside = true
	return messages.MessageAt(f.checkTensor(h), at)
}
