package onnxgraph

import (
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
)

// Decoder decodes one graph, whose encoding has been checked. It fails only for what values mean.
// It reserves all memory before allocating it. Strings of the graph are parts of the message.
type Decoder struct {
	*Dialect
	Room    messages.Room
	Tensors Tensors

	depth int // of subgraphs
	err   error
}

// Tensors handles the tensors of a graph. Offsets are those of the outermost message.
type Tensors interface {
	// Attribute returns the view of a tensor in an attribute. pieces has several elements if the
	// field occurs more than once. Errors about the tensor are at the offset.
	Attribute(at int64, pieces []messages.Message) (tensor.View, error)
	// Initializer returns the name of an initializer, and whether the graph lists it. main says that
	// it belongs to the outermost graph.
	Initializer(at int64, m messages.Message, main bool) (name string, listed bool, err error)
	// Sparse checks a sparse tensor. main says that it is an initializer of the outermost graph.
	Sparse(at int64, m messages.Message, main bool) error
}

// Sizes of values in memory, including the name that is sorted to find duplicates.
const (
	nodeBytes      = 120
	valueBytes     = 64 + stringBytes
	attributeBytes = 64 + stringBytes
	dimBytes       = 24
	stringBytes    = 16
)

// The approximate sizes of a tensor with its view and model, and of a graph, in an attribute.
const (
	tensorBytes = 400
	graphBytes  = 160
)

// Decode decodes the outermost graph.
func (d *Decoder) Decode(m messages.Message) (*schema.Graph, error) {
	g := newGraph()
	d.graph(g, m)
	if d.err != nil {
		return nil, d.err
	}
	at := &messages.Error{Whole: true}
	d.checkNames(g, at)
	return g, d.err
}

func newGraph() *schema.Graph { return &schema.Graph{Initializers: []string{}} }

// fail records the first error.
func (d *Decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// failf records an error about a field of the message at an offset.
func (d *Decoder) failf(at int64, field string, text string, args ...any) {
	d.fail(messages.Errorf(at, field, tensor.ErrCorrupt, text, args...))
}

// charge counts n bytes before they are allocated.
func (d *Decoder) charge(at, n int64) {
	err := d.Room.Charge(at, n)
	if err != nil {
		d.fail(err)
	}
}

// room returns list with room for the n values of the current field and for the same fields that
// follow it, of each bytes.
func room[T any](d *Decoder, f *messages.Cursor, list []T, n, each int) []T {
	if n <= cap(list)-len(list) {
		return list
	}
	n = max(n, f.Run()) + 2*len(list)
	d.charge(f.At(), int64(n)*int64(each))
	if d.err != nil {
		return list
	}
	more := make([]T, 0, n)
	return append(more, list...)
}

// graph decodes a graph into g. If its field occurs more than once, the messages are merged.
func (d *Decoder) graph(g *schema.Graph, m messages.Message) {
	for f := m.Cursor(); f.Next() && d.err == nil; {
		switch f.Number {
		case d.GraphFields.Name:
			g.Name = f.Text()
		case d.GraphFields.Nodes:
			g.Nodes = room(d, &f, g.Nodes, 1, nodeBytes)
			g.Nodes = append(g.Nodes, d.decodeNode(f.At(), f.Message()))
		case d.GraphFields.Inputs:
			g.Inputs = room(d, &f, g.Inputs, 1, valueBytes)
			g.Inputs = append(g.Inputs, d.value(f.Message()))
		case d.GraphFields.Outputs:
			g.Outputs = room(d, &f, g.Outputs, 1, valueBytes)
			g.Outputs = append(g.Outputs, d.value(f.Message()))
		case d.GraphFields.Initializers:
			d.initializer(g, &f)
		case graphSparse:
			d.sparse(&f, d.depth == 0)
		}
	}
}

// initializer decodes an initializer.
func (d *Decoder) initializer(g *schema.Graph, f *messages.Cursor) {
	name, listed, err := d.Tensors.Initializer(f.At(), f.Message(), d.depth == 0)
	if err != nil {
		d.fail(err)
		return
	}
	if listed {
		g.Initializers = room(d, f, g.Initializers, 1, 2*stringBytes)
		g.Initializers = append(g.Initializers, name)
	}
}

// sparse checks a sparse tensor, if the format has such fields.
func (d *Decoder) sparse(f *messages.Cursor, main bool) {
	if d.Sparse == 0 {
		return
	}
	err := d.Tensors.Sparse(f.At(), f.Message(), main)
	if err != nil {
		d.fail(err)
	}
}

// checkNames refuses duplicate names in the lists of a graph. at is the place of the error.
func (d *Decoder) checkNames(g *schema.Graph, at *messages.Error) {
	if d.err != nil {
		return
	}
	graph := d.Schema[d.Graph].Fields
	if d.depth > 0 {
		d.distinct(len(g.Initializers), func(i int) string { return g.Initializers[i] },
			graph[d.GraphFields.Initializers].Name, at)
	}
	d.distinct(len(g.Inputs), func(i int) string { return g.Inputs[i].Name },
		graph[d.GraphFields.Inputs].Name, at)
	if d.UniqueOutputs {
		d.distinct(len(g.Outputs), func(i int) string { return g.Outputs[i].Name },
			graph[d.GraphFields.Outputs].Name, at)
	}
}

// distinct refuses duplicate names in a field.
func (d *Decoder) distinct(n int, name func(int) string, field string, at *messages.Error) {
	twice, found := Duplicate(n, name)
	if !found {
		return
	}
	err := messages.Errorf(at.At, field, tensor.ErrCorrupt, "the name %.200q occurs twice", twice)
	err.Whole = at.Whole
	d.fail(err)
}

// Duplicate returns a name that occurs twice among n names.
func Duplicate(n int, name func(int) string) (string, bool) {
	if n < 2 {
		return "", false
	}
	sorted := make([]string, n)
	for i := range sorted {
		sorted[i] = name(i)
	}
	slices.Sort(sorted)
	for i, name := range sorted[1:] {
		if name == sorted[i] {
			return name, true
		}
	}
	return "", false
}

// decodeNode decodes the node in the field at an offset.
func (d *Decoder) decodeNode(at int64, m messages.Message) (n schema.Node) {
	for f := m.Cursor(); f.Next() && d.err == nil; {
		switch f.Number {
		case d.NodeFields.Name:
			n.Name = f.Text()
		case d.NodeFields.Op:
			n.Op = f.Text()
		case d.NodeFields.Inputs:
			n.Inputs = room(d, &f, n.Inputs, 1, stringBytes)
			n.Inputs = append(n.Inputs, f.Text())
		case d.NodeFields.Outputs:
			n.Outputs = room(d, &f, n.Outputs, 1, stringBytes)
			n.Outputs = append(n.Outputs, f.Text())
		case nodeAttributes:
			n.Attributes = room(d, &f, n.Attributes, 1, attributeBytes)
			n.Attributes = append(n.Attributes, d.attribute(f.At(), f.Message()))
		case nodeDomain:
			if d.Schema.Field(d.node(), &f) != nil { // else another writer uses the number
				n.Domain = f.Text()
			}
		}
	}
	if d.err == nil && len(n.Attributes) > 1 {
		field := d.Schema[d.node()].Fields[nodeAttributes].Name
		d.distinct(len(n.Attributes), func(i int) string { return n.Attributes[i].Name },
			field, &messages.Error{At: at})
	}
	return n
}

// value decodes an input or output of a graph.
func (d *Decoder) value(m messages.Message) (v schema.ValueInfo) {
	for f := m.Cursor(); f.Next() && d.err == nil; {
		switch f.Number {
		case valueName:
			v.Name = f.Text()
		case valueType:
			d.valueType(&v, f.Message())
		}
	}
	return v
}

// valueType decodes the type of a value, if it is that of a tensor.
func (d *Decoder) valueType(v *schema.ValueInfo, m messages.Message) {
	for f := m.Cursor(); f.Next() && d.err == nil; {
		if f.Number == tensorType {
			d.tensorType(v, f.Message())
		}
	}
}

func (d *Decoder) tensorType(v *schema.ValueInfo, m messages.Message) {
	for f := m.Cursor(); f.Next() && d.err == nil; {
		switch f.Number {
		case tensorElem:
			v.DType = d.DType(f.Enum())
			v.Code = ""
			if v.DType == tensor.Invalid && f.Enum() != 0 {
				v.Code = strconv.Itoa(int(f.Enum()))
			}
		case tensorShape:
			v.Dims = d.shape(orEmpty(v.Dims), f.Message())
		}
	}
}

// shape appends the dims of a shape.
func (d *Decoder) shape(dims []schema.Dim, m messages.Message) []schema.Dim {
	for f := m.Cursor(); f.Next() && d.err == nil; {
		if f.Number == shapeDim {
			dims = room(d, &f, dims, 1, dimBytes)
			dims = append(dims, dim(f.Message()))
		}
	}
	return dims
}

func dim(m messages.Message) schema.Dim {
	size := schema.Dim{Size: schema.DynamicDim}
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case dimValue:
			size.Size = f.Int()
		case dimParam:
			size.Symbol = f.Text()
		}
	}
	return size
}

// orEmpty returns list, or an empty list instead of nil.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
