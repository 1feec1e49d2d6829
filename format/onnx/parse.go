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

// parsed is an open file besides its index. model and graph have the messages of the file without
// the data of initializers: an empty field marks where that was.
type parsed struct {
	src      driver.Source // nil for a model that is written
	index    *driver.Index
	memory   *driver.Memory
	model    messages.Copy // the ModelProto; an empty graph marks the place of the graph
	graph    messages.Copy // the GraphProto
	fields   model
	decoded  *schema.Graph
	records  []record // by tensor
	files    external.Files
	external bool // the data of a tensor within the graph, a function or a training is external
	hasDocs  bool
}

// parser reads everything but the data of initializers and external files.
type parser struct {
	f        *parsed
	counts   *messages.Counts
	shell    messages.Copy // the current initializer without its data
	head     *head         // of the current tensor
	room     messages.Room
	hasGraph bool
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
	f := &parsed{src: src, index: x, memory: o.Memory}
	p := &parser{f: f, counts: messages.NewCounts(), head: &head{}}
	model, graph, err := p.read()
	if err != nil {
		return nil, err
	}
	p.room.Most = o.Memory.Room(src.Size())
	err = p.decode(model, graph)
	if err != nil {
		return nil, err
	}
	err = o.Memory.Reserve(p.room.Cost)
	if err != nil {
		return nil, err
	}
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
func (p *parser) read() (model, graph messages.Message, err error) {
	f := p.f
	f.model.Begin(f.memory)
	f.graph.Begin(f.memory)
	read := p.readFile()
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
	p.counts.Around = 0
	model, badModel := table.Check(typeModel, f.model.Text(), p.counts)
	p.counts.Around = 1
	p.counts.Checked = 1<<initializer | 1<<sparseInitializer
	graph, badGraph := table.Check(typeGraph, f.graph.Text(), p.counts)
	f.hasDocs = p.counts.HasDocs
	return model, graph, messages.Lowest(f.placeModel(badModel), f.placeGraph(badGraph), read)
}

// readFile copies the messages into memory, and lists the tensors.
func (p *parser) readFile() error {
	section := messages.OpenSection(p.f.src, 0, p.f.src.Size())
	defer section.Close()
	p.counts.Around = 2
	p.shell.Begin(p.f.memory)
	defer p.shell.Drop()
	err := p.readModel(section)
	bad, ok := err.(*messages.Placed)
	if ok {
		return wire.Error(formatName, cmp.Or(bad.Field, "model"), bad.At, bad.Err)
	}
	return err
}

// decode decodes what is not a tensor of the model.
func (p *parser) decode(model, graph messages.Message) error {
	f := p.f
	err := f.fields.decode(model, &p.room)
	if err != nil {
		return f.placeModel(err)
	}
	if !p.hasGraph {
		return wire.Errorf(formatName, "graph", 0, tensor.ErrTruncated,
			"missing: the file was cut short, or is no model")
	}
	f.index.Version = "unknown"
	if v := f.fields.values[irVersion]; v != nil {
		f.index.Version = fmt.Sprint(v)
	}
	err = p.decodeGraph(graph)
	if err != nil {
		return f.placeGraph(err)
	}
	return f.placeModel(p.declareTensors(typeModel, model))
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
func (p *parser) decodeGraph(m messages.Message) error {
	d := &onnxgraph.Decoder{Dialect: &dialect, Room: p.room, Tensors: p}
	g, err := d.Decode(m)
	p.room = d.Room
	if err != nil {
		return err
	}
	if len(g.Nodes)+len(g.Inputs)+len(g.Outputs) == 0 && !hasDoc(m) {
		return nil
	}
	charged := p.room.Charge(0, 16*int64(p.f.index.Len()))
	if charged != nil {
		charged.Whole = true
		return charged
	}
	g.Initializers = p.f.index.Names()
	p.f.decoded = g
	return nil
}

// declareTensors declares the external files of the tensors in a message: a copy of the model has
// their data inside.
func (p *parser) declareTensors(t messages.Type, m messages.Message) error {
	for c := m.Cursor(); c.Next(); {
		def := table.Field(t, &c)
		if def == nil || def.Kind != messages.Nested {
			continue
		}
		var err error
		if def.Of == typeTensor {
			err = p.declareTensor(c.At(), c.Message())
		} else {
			err = p.declareTensors(def.Of, c.Message())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// declareTensor checks a tensor in the field at an offset, if its data is external.
func (p *parser) declareTensor(at int64, m messages.Message) error {
	h := p.head
	err := h.read(m)
	if err != nil || h.location != 1 {
		return err
	}
	p.f.external = true
	return messages.MessageAt(p.checkTensor(h), at)
}
