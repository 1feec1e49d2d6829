package onnxgraph

import (
	"errors"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
)

// attribute holds the values in all fields of an attribute. Its type determines which one counts.
type attribute struct {
	name     string
	typ      int32 // from the attribute
	last     int32 // type of the last field that holds a value
	float    float32
	integer  int64
	text     string
	floats   []float32
	integers []int64
	texts    []string
	pieces   []messages.Message // of the tensor
	tensor   tensor.View
	graph    *schema.Graph
	graphAt  int64
	tensors  []tensor.View
	graphs   []*schema.Graph
}

// attribute decodes the attribute in the field at an offset.
func (d *Decoder) attribute(at int64, m messages.Message) schema.Attribute {
	var a attribute
	for f := m.Cursor(); f.Next() && d.err == nil; {
		d.attributeField(&a, at, &f)
	}
	if d.Merges && a.pieces != nil && d.err == nil {
		a.tensor = d.tensor(at, at, a.pieces)
	}
	return schema.Attribute{Name: a.name, Value: a.value()}
}

// attributeField decodes a field of an attribute.
func (d *Decoder) attributeField(a *attribute, at int64, f *messages.Cursor) {
	if f.Number >= attributeFloat && f.Number <= attributeGraphs {
		a.last = int32(f.Number - 1)
	}
	switch f.Number {
	case attributeName:
		a.name = f.Text()
	case attributeType:
		a.typ = f.Enum()
	case attributeFloat:
		a.float = f.Float()
	case attributeInt:
		a.integer = f.Int()
	case attributeString:
		a.text = f.Text()
	case attributeFloats:
		a.floats = room(d, f, a.floats, f.Floats(), 4)
		if d.err == nil {
			a.floats = messages.AppendFloats(a.floats, f)
		}
	case attributeInts:
		a.integers = room(d, f, a.integers, f.Ints(), 8)
		if d.err == nil {
			a.integers = messages.AppendInts(a.integers, f)
		}
	case attributeStrings:
		a.texts = room(d, f, a.texts, 1, stringBytes)
		a.texts = append(a.texts, f.Text())
	case attributeSparse, attributeSparses:
		d.sparse(f, false)
	case attributeTensor, attributeTensors, attributeGraph, attributeGraphs:
		d.attributeObject(a, f)
	}
}

// attributeObject decodes a tensor or a graph of an attribute.
func (d *Decoder) attributeObject(a *attribute, f *messages.Cursor) {
	bytes := int64(tensorBytes)
	if f.Number == attributeGraph || f.Number == attributeGraphs {
		bytes = graphBytes
	}
	d.charge(f.At(), bytes)
	if d.err != nil {
		return
	}
	switch f.Number {
	case attributeTensor:
		a.pieces = append(a.pieces, f.Message())
		switch {
		case d.Merges: // when all pieces are known
		case len(a.pieces) > 1:
			d.failf(f.At(), "", "it occurs twice")
		default:
			a.tensor = d.tensor(f.At(), -1, a.pieces)
		}
	case attributeTensors:
		a.tensors = append(a.tensors, d.tensor(f.At(), -1, []messages.Message{f.Message()}))
	case attributeGraph:
		if a.graph == nil {
			a.graph = newGraph()
			a.graphAt = f.At()
		}
		d.subgraph(a.graph, a.graphAt, f.Message())
	case attributeGraphs:
		g := newGraph()
		d.subgraph(g, f.At(), f.Message())
		a.graphs = append(a.graphs, g)
	}
}

// subgraph decodes a graph in an attribute, whose field is at an offset.
func (d *Decoder) subgraph(g *schema.Graph, at int64, m messages.Message) {
	d.depth++
	d.graph(g, m)
	d.checkNames(g, &messages.Error{At: at})
	d.depth--
}

// tensor decodes a tensor. An error at the offset of the attribute is one about its tensor.
func (d *Decoder) tensor(at, attribute int64, pieces []messages.Message) tensor.View {
	v, err := d.Tensors.Attribute(at, pieces)
	if err == nil {
		return v
	}
	var e *messages.Error
	if errors.As(err, &e) && e.At == attribute {
		fields := d.Schema[d.Dialect.attribute()].Fields
		e.Field = messages.Join(fields[attributeTensor].Name, e.Field)
	}
	d.fail(err)
	return v
}

// value returns the value for the type. If its field is missing, a number is 0, a string or list is
// empty, and a tensor or graph is nil. It returns nil for types that the neutral form lacks.
func (a *attribute) value() any {
	if a.typ == typeUndefined {
		a.typ = a.last // old files have no type
	}
	switch a.typ {
	case typeFloat:
		return a.float
	case typeInt:
		return a.integer
	case typeString:
		return a.text
	case typeFloats:
		return orEmpty(a.floats)
	case typeInts:
		return orEmpty(a.integers)
	case typeStrings:
		return orEmpty(a.texts)
	case typeTensors:
		return orEmpty(a.tensors)
	case typeGraphs:
		return orEmpty(a.graphs)
	}
	switch {
	case a.typ == typeTensor && a.pieces != nil:
		return a.tensor
	case a.typ == typeGraph && a.graph != nil:
		return a.graph
	}
	return nil
}
