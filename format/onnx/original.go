package onnx

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/tensor"
)

// original is a schema's Native, updated to match the schema. Without one it is empty.
type original struct {
	isSet  bool
	model  model                  // its fields when it was read
	single [len(modelKeys)][]byte // its encoded fields
	sets   map[schema.OperatorSet][]byte
	props  map[stringEntry][]byte
	fields []modelField // all fields, in the order of the file
	graph  []byte       // empty fields are the initializers; nil if the schema has another
	inner  onnxgraph.Subgraphs
	shells map[string]*shell // by the name in the schema
}

// modelField is an encoded field of a model.
type modelField struct {
	number int
	raw    []byte
}

// shell holds the fields of an initializer other than its data, whose place an empty field marks.
type shell struct {
	name   string
	code   int32
	dims   tensor.Shape
	text   string
	moved  bool // it has another name in the schema
	sparse bool // it has only a name
}

// has reports whether the initializer has the type of a tensor.
func (s *shell) has(as storage) bool { return s.code == as.code && s.sparse == as.sparse }

// shellOf reads an initializer.
func shellOf(m messages.Message) *shell {
	s := &shell{text: m.Text()}
	for c := m.Cursor(); c.Next(); {
		switch c.Number {
		case tensorDims:
			s.dims = messages.AppendInts(s.dims, &c)
		case dataType:
			s.code = c.Enum()
		case tensorName:
			s.name = c.Text()
		}
	}
	return s
}

// originalOf reads the schema's Native, if it has one of this format, and adds what contradicts the
// schema to l.
func originalOf(p *schema.Schema, l *schema.LossList) (*original, error) {
	o := &original{}
	if p.Native == nil || p.Native.Format != formatName {
		return o, nil
	}
	raw := string(p.Native.Raw)
	m, err := table.Check(typeModel, raw, messages.NewCounts())
	if err != nil {
		return o, placed(typeModel, raw, "native", err)
	}
	room := messages.Room{Most: (*driver.Memory)(nil).Room(int64(len(raw)))}
	err = o.model.decode(m, &room)
	if err != nil {
		return o, placed(typeModel, raw, "native", err)
	}
	o.isSet = true
	o.sets = map[schema.OperatorSet][]byte{}
	o.props = map[stringEntry][]byte{}
	o.read(m, p, l)
	return o, nil
}

// read takes the fields of a valid model, and changes what names tensors of the schema.
func (o *original) read(m messages.Message, p *schema.Schema, l *schema.LossList) {
	graph := messages.Message{}
	for c := m.Cursor(); c.Next(); {
		if c.Number == modelGraph {
			graph = c.Message()
		}
	}
	e := o.match(graph, p)
	for c := m.Cursor(); c.Next(); {
		field := modelField{number: c.Number}
		switch {
		case c.Number == modelGraph:
		case isHeader(c.Number):
			o.takeHeader(&c)
		default:
			field.raw = e.AppendField(nil, typeModel, &c)
		}
		o.fields = append(o.fields, field)
	}
	o.readGraph(e, graph)
	o.followGraph(e, graph, p, l)
	for _, kind := range []string{"value_info", "quantization_annotation", "training_info"} {
		n := e.Dropped[kind]
		if n > 0 {
			l.Native(kind, fmt.Errorf("%w: %d of tensors that are gone or have another type",
				tensor.ErrUnsupported, n))
		}
	}
}

// takeHeader keeps an encoded field that the metadata of a schema has.
func (o *original) takeHeader(c *messages.Cursor) {
	raw := []byte(c.Raw())
	switch c.Number {
	case operatorSets:
		o.sets[operatorSet(c.Message())] = raw
	case properties:
		o.props[property(c.Message())] = raw
	default:
		o.single[c.Number] = raw
	}
}

// isHeader reports whether a field of a model is one that the metadata of a schema has.
func isHeader(number int) bool {
	return number > 0 && number < len(modelKeys) || number == operatorSets || number == properties
}

// match finds the tensors of the schema in the graph, and returns the changes that follow.
func (o *original) match(graph messages.Message, p *schema.Schema) *messages.Edit {
	e := dialect.Edit()
	e.Names = map[string]string{}
	e.Fresh = map[string]bool{}
	e.Gone = map[string]bool{}
	e.Dropped = map[string]int{}
	shells := shellsOf(graph)
	for name := range shells {
		e.Gone[name] = true
	}
	o.shells = map[string]*shell{}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		old := cmp.Or(p.Native.Renamed[t.Name], t.Name)
		one := shells[old]
		if one == nil {
			continue // a tensor that the file did not have
		}
		delete(e.Gone, old)
		one.moved = old != t.Name
		if one.moved {
			e.Names[old] = t.Name
			e.Fresh[t.Name] = shells[t.Name] == nil
		}
		e.Retyped = e.Retyped || !one.has(storageOf(t))
		o.shells[t.Name] = one
	}
	if p.Graph != nil {
		for _, v := range p.Graph.Inputs { // such a tensor was a default
			delete(e.Gone, v.Name)
		}
	}
	return e
}

// shellsOf returns the initializers of a graph, by name.
func shellsOf(graph messages.Message) map[string]*shell {
	shells := map[string]*shell{}
	for c := graph.Cursor(); c.Next(); {
		switch c.Number {
		case initializer:
			one := shellOf(c.Message())
			shells[one.name] = one
		case sparseInitializer:
			name := sparseName(c.Message())
			shells[name] = &shell{name: name, sparse: true}
		}
	}
	return shells
}

// readGraph copies the graph with an empty field in the place of each initializer.
func (o *original) readGraph(e *messages.Edit, graph messages.Message) {
	o.graph = make([]byte, 0, len(graph.Text()))
	for c := graph.Cursor(); c.Next(); {
		if c.Number == initializer || c.Number == sparseInitializer {
			o.graph = messages.AppendBytes(o.graph, initializer, "")
			continue
		}
		o.graph = e.AppendField(o.graph, typeGraph, &c)
	}
}

// followGraph drops the graph if that of the schema is another.
func (o *original) followGraph(
	e *messages.Edit, graph messages.Message, p *schema.Schema, l *schema.LossList,
) {
	decoded, err := decodeGraph(string(o.graph))
	if err == nil && !e.Clash && dialect.SameNodes(decoded, p.Graph) {
		return
	}
	o.inner = dialect.Subgraphs(messages.Outermost(string(o.graph)))
	o.graph = nil
	bare := messages.AppendOthers(nil, graph, initializer, sparseInitializer)
	dialect.Lose(e, messages.Outermost(string(bare)), p, l)
}

// imported returns the domains whose operators the file imports.
func (o *original) imported() map[string]bool {
	domains := map[string]bool{}
	for _, s := range o.model.opsets {
		domains[s.Domain] = true
	}
	return domains
}

// check returns an error for a listed tensor that is not copied from an ONNX file: its bytes have
// no meaning elsewhere.
func (o *original) check(t *tensor.Info) error {
	as := storageOf(t)
	from := o.shells[t.Name]
	switch {
	case codeOfTensor(t) != 0:
		return nil
	case as.code == 0 && !as.sparse || from == nil || !from.has(as):
		return fmt.Errorf("%w: the format has no %s", tensor.ErrUnsupported, t.TypeName())
	case as.sparse && from.moved:
		return fmt.Errorf("%w: a sparse tensor keeps its name", tensor.ErrUnsupported)
	}
	return nil
}

// isProperty reports whether the file has metadata_props with the name of a field that it lacks.
func (o *original) isProperty(number int) bool {
	return o.model.values[number] == nil &&
		slices.ContainsFunc(o.model.props, func(e stringEntry) bool { return e.key == modelKeys[number] })
}
