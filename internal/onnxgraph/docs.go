package onnxgraph

import (
	"fmt"
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

// newLists returns the lists of a message without its parts.
func (d *Dialect) newLists(t messages.Type, pieces []messages.Message) *lists {
	l := &lists{Dialect: d, of: t}
	if t == d.attribute() {
		l.value = valueField(pieces[0])
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

// next returns the path of the part in the current field behind that of the message, or "" if the
// field is no part.
func (l *lists) next(f *messages.Cursor) string {
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
	return ""
}

func (l *lists) nextOfGraph(number int) string {
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
	return ""
}

func (l *lists) nextOfAttribute(number int) string {
	switch number {
	case attributeTensor:
		return ".t"
	case attributeGraph:
		return ".g"
	case attributeTensors:
		return element(".tensors", &l.elements)
	case attributeGraphs:
		return element(".graphs", &l.elements)
	}
	return ""
}

// element returns the path of the next element of a list.
func element(list string, n *int) string {
	path := fmt.Sprintf("%s[%d]", list, *n)
	*n++
	return path
}

// DocReader collects the docs in messages that have been checked.
type DocReader struct {
	*Dialect
	Room messages.Room
	Docs []schema.Doc

	err error
}

// The memory of a doc and of a pair of properties, in lists that double.
const (
	docBytes  = 3 * 72
	pairBytes = 3 * 32
)

// ReadGraph collects the docs of the outermost graph and its parts.
func (r *DocReader) ReadGraph(m messages.Message) error {
	r.read(r.Graph, "graph", m)
	return r.err
}

// ReadTensor collects the doc of a tensor. A message that repeats is merged.
func (r *DocReader) ReadTensor(path string, pieces ...messages.Message) error {
	r.read(r.Tensor, path, pieces...)
	return r.err
}

// read collects the doc of a message, then those of its parts.
func (r *DocReader) read(t messages.Type, path string, pieces ...messages.Message) {
	doc := schema.Doc{Path: path}
	for _, m := range pieces {
		r.readDoc(&doc, t, m)
	}
	if doc.Text != "" || len(doc.Properties) > 0 {
		for _, m := range pieces {
			r.readName(&doc, t, m)
		}
		r.charge(int64(docBytes+len(path)), pieces[0].At())
		r.Docs = append(r.Docs, doc)
	}
	if t != r.Tensor {
		r.readParts(t, path, pieces)
	}
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
func (r *DocReader) readParts(t messages.Type, path string, pieces []messages.Message) {
	l := r.newLists(t, pieces)
	var values []messages.Message // the tensor or graph of an attribute, which may be merged
	for _, m := range pieces {
		for f := m.Cursor(); f.Next() && r.err == nil; {
			suffix := l.next(&f)
			isInitializer := t == r.Graph && f.Number == r.GraphFields.Initializers
			switch {
			case suffix == "":
			case isInitializer && path == "graph" && !r.Declares:
			case t == r.attribute() && (f.Number == attributeTensor || f.Number == attributeGraph):
				values = append(values, f.Message())
			default:
				r.read(r.Schema[t].Fields[f.Number].Of, path+suffix, f.Message())
			}
		}
	}
	if values != nil {
		r.read(r.Schema[t].Fields[l.value].Of, path+l.nextOfAttribute(l.value), values...)
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
