package onnxgraph

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
)

// The fields of a pair of properties.
const (
	pairKey   = 1
	pairValue = 2
)

// lists finds the parts of a message that a schema.Doc can be about.
type lists struct {
	*Dialect
	of    messages.Type
	value int // of an attribute: the field that has its value

	nodes, inputs, outputs, initializers int    // of a graph, so far
	elements                             int    // of a node or an attribute, so far
	graph                                *lists // of the graph of an attribute, which may be merged
}

// part is where a part is in a message: ".nodes" and the index, or ".g" and -1. A field that is no
// part has no list.
type part struct {
	list  string
	index int
}

// appendTo appends the part to the path of the message.
func (p part) appendTo(path []byte) []byte {
	path = append(path, p.list...)
	if p.index < 0 {
		return path
	}
	path = append(path, '[')
	path = strconv.AppendInt(path, int64(p.index), 10)
	return append(path, ']')
}

// newLists returns the lists of a message without its parts.
func (d *Dialect) newLists(t messages.Type, m messages.Message) lists {
	l := lists{Dialect: d, of: t}
	if t == d.attribute() {
		l.value = valueField(m)
	}
	return l
}

// valueField returns the number of the field with the value of an attribute.
func valueField(m messages.Message) int {
	last := 0
	typ := int32(typeUndefined)
	for f := m.Cursor(); f.Next(); {
		switch {
		case f.Number >= attributeFloat && f.Number <= attributeGraphs:
			last = f.Number
		case f.Number == attributeType:
			typ = f.Enum()
		}
	}
	if typ == typeUndefined {
		return last // old files have no type
	}
	return int(typ) + 1
}

// next returns the part in the current field.
func (l *lists) next(f *messages.Cursor) part {
	switch l.of {
	case l.Graph:
		return l.nextOfGraph(f.Number)
	case l.node():
		if f.Number == nodeAttributes {
			return element(".attributes", &l.elements)
		}
	case l.attribute():
		if f.Number == l.value {
			return l.nextOfAttribute(f.Number)
		}
	}
	return part{}
}

func (l *lists) nextOfGraph(number int) part {
	switch number {
	case l.GraphFields.Nodes:
		return element(".nodes", &l.nodes)
	case l.GraphFields.Inputs:
		return element(".inputs", &l.inputs)
	case l.GraphFields.Outputs:
		return element(".outputs", &l.outputs)
	case l.GraphFields.Initializers:
		return element(".initializers", &l.initializers)
	}
	return part{}
}

func (l *lists) nextOfAttribute(number int) part {
	switch number {
	case attributeTensor:
		return part{".t", -1}
	case attributeGraph:
		return part{".g", -1}
	case attributeTensors:
		return element(".tensors", &l.elements)
	case attributeGraphs:
		return element(".graphs", &l.elements)
	}
	return part{}
}

// element returns the next element of a list.
func element(list string, n *int) part {
	p := part{list, *n}
	*n++
	return p
}

// DocReader collects the docs in messages that have been checked.
type DocReader struct {
	*Dialect
	Room messages.Room
	Docs []schema.Doc

	path []byte // of the current message of the graph
	err  error
}

// The memory of a doc and of a pair of properties, in lists that double.
const (
	docBytes  = 3 * 72
	pairBytes = 3 * 32
)

// ReadGraph collects the docs of the outermost graph and its parts.
func (r *DocReader) ReadGraph(m messages.Message) error {
	r.path = append(r.path[:0], "graph"...)
	r.read(r.Graph, m)
	return r.err
}

// ReadTensor collects the doc of a tensor with a name. A message that repeats is merged.
func (r *DocReader) ReadTensor(name string, pieces ...messages.Message) error {
	doc, ok := r.docIn(r.Tensor, pieces)
	if ok {
		r.add(doc, TensorPath(name), pieces[0].At())
	}
	return r.err
}

// TensorPath returns the path of a tensor in docs.
func TensorPath(name string) string { return fmt.Sprintf("tensor %q", name) }

// read collects the doc of a message, which may be in pieces, then those of its parts.
func (r *DocReader) read(t messages.Type, pieces ...messages.Message) {
	doc, ok := r.docIn(t, pieces)
	if ok {
		r.add(doc, string(r.path), pieces[0].At())
	}
	if t == r.Graph || t == r.node() || t == r.attribute() {
		r.readParts(t, pieces)
	}
}

// docIn returns the doc in a message, and whether there is one.
func (r *DocReader) docIn(t messages.Type, pieces []messages.Message) (doc schema.Doc, ok bool) {
	for _, m := range pieces {
		r.readDoc(&doc, t, m)
	}
	if doc.Text == "" && len(doc.Properties) == 0 {
		return doc, false
	}
	for _, m := range pieces {
		r.readName(&doc, t, m)
	}
	return doc, true
}

// add adds the doc of the part with a path, whose message is at an offset.
func (r *DocReader) add(doc schema.Doc, path string, at int64) {
	doc.Path = path
	r.charge(int64(docBytes+len(path)), at)
	r.Docs = append(r.Docs, doc)
}

// readDoc reads the fields of a doc in a message.
func (r *DocReader) readDoc(doc *schema.Doc, t messages.Type, m messages.Message) {
	for f := m.Cursor(); f.Next() && r.err == nil; {
		def := r.Schema.Field(t, &f)
		switch {
		case def == nil || def.Use&messages.Doc == 0:
		case def.Kind == messages.String:
			doc.Text = f.Text()
		case def.Many:
			r.charge(pairBytes, f.At())
			doc.Properties = append(doc.Properties, pairOf(f.Message()))
		default:
			r.readDoc(doc, def.Of, f.Message())
		}
	}
}

// readName reads the name in a message.
func (r *DocReader) readName(doc *schema.Doc, t messages.Type, m messages.Message) {
	for f := m.Cursor(); f.Next(); {
		def := r.Schema.Field(t, &f)
		if def != nil && def.Name == "name" {
			doc.Name = f.Text()
		}
	}
}

// readParts collects the docs of the parts of a message.
func (r *DocReader) readParts(t messages.Type, pieces []messages.Message) {
	l := r.newLists(t, pieces[0])
	if t == r.attribute() {
		r.readValue(&l, pieces[0])
		return
	}
	isOutermost := len(r.path) == len("graph")
	before := len(r.path)
	for _, m := range pieces {
		for f := m.Cursor(); f.Next() && r.err == nil; {
			p := l.next(&f)
			isInitializer := t == r.Graph && f.Number == r.GraphFields.Initializers
			if p.list == "" || isInitializer && isOutermost && !r.Declares {
				continue
			}
			r.path = p.appendTo(r.path)
			r.read(r.Schema[t].Fields[f.Number].Of, f.Message())
			r.path = r.path[:before]
		}
	}
}

// readValue collects the docs of the tensors or graphs in an attribute. A single one that repeats is
// merged.
func (r *DocReader) readValue(l *lists, m messages.Message) {
	if l.nextOfAttribute(l.value).list == "" {
		return
	}
	l.elements = 0
	before := len(r.path)
	of := r.Schema[l.of].Fields[l.value].Of
	var pieces []messages.Message
	for f := m.Cursor(); f.Next() && r.err == nil; {
		p := l.next(&f)
		if p.list == "" {
			continue
		}
		pieces = append(pieces, f.Message())
		if p.index < 0 {
			continue
		}
		r.path = p.appendTo(r.path)
		r.read(of, pieces...)
		r.path = r.path[:before]
		pieces = pieces[:0]
	}
	if len(pieces) > 0 {
		r.path = l.nextOfAttribute(l.value).appendTo(r.path)
		r.read(of, pieces...)
		r.path = r.path[:before]
	}
}

// charge counts n bytes before they are allocated.
func (r *DocReader) charge(n, at int64) {
	err := r.Room.Charge(at, n)
	if err != nil && r.err == nil {
		r.err = err
	}
}

// pairOf returns the key and the value of a pair.
func pairOf(m messages.Message) (p [2]string) {
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case pairKey:
			p[0] = f.Text()
		case pairValue:
			p[1] = f.Text()
		}
	}
	return p
}

// Holds reports what the message for a part has a place for: a text, and properties.
func (d *Dialect) Holds(doc *schema.Doc) (text, properties bool) {
	return d.holds(d.typeOf(doc.Path))
}

func (d *Dialect) holds(t messages.Type) (text, properties bool) {
	for i := range d.Schema[t].Fields {
		f := &d.Schema[t].Fields[i]
		switch {
		case f.Use&messages.Doc == 0:
		case f.Kind == messages.String:
			text = true
		case f.Many:
			properties = true
		default:
			text, properties = d.holds(f.Of)
		}
	}
	return text, properties
}

// typeOf returns the type of the message for a part of a schema.
func (d *Dialect) typeOf(path string) messages.Type {
	if strings.HasPrefix(path, "tensor ") {
		return d.Tensor
	}
	last, _, _ := strings.Cut(path[strings.LastIndexByte(path, '.')+1:], "[")
	switch last {
	case "graph", "g", "graphs":
		return d.Graph
	case "nodes":
		return d.node()
	case "attributes":
		return d.attribute()
	case "inputs", "outputs":
		return d.Schema[d.Graph].Fields[d.GraphFields.Inputs].Of
	}
	return d.Tensor
}
