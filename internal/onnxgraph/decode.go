package onnxgraph

import (
	"math"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Decoder decodes a graph, once: it checks the wire rules, counts what there is against the
// limits of Source.Tally, refuses names that occur twice, and builds the neutral graph.
type Decoder struct {
	*Schema
	Source *protobuf.Source // in memory
	Format Format

	main  int // level of the outermost graph
	names []string
	// What nodes hold, while its number is not known.
	inputs, outputs []string
	attributes      []driver.Attribute
	// Where it stays.
	text     strings.Builder
	edges    Arena[string]
	attrs    Arena[driver.Attribute]
	integers Arena[int64]
	floats   Arena[float32]
}

// Format is what a format does with the tensors of a graph. Messages are so many levels deep.
type Format interface {
	// AttributeTensor checks a tensor in an attribute and makes its view. There are several
	// pieces when the field that holds it occurs more than once. at is the offset for errors.
	AttributeTensor(at int64, level int, pieces ...protobuf.Field) (tensor.View, error)
	// Initializer checks an initializer and returns its name. main says that it is one of
	// the outermost graph.
	Initializer(msg protobuf.Field, level int, main bool) ([]byte, error)
	// Sparse checks a sparse tensor, which is in an attribute or a graph; main says that it
	// is an initializer of the outermost graph.
	Sparse(msg protobuf.Field, level int, main bool) error
}

// Decode decodes the outermost graph, whose message is so many levels deep.
func (d *Decoder) Decode(msg protobuf.Field, level int) (*driver.Graph, error) {
	d.main = level
	return d.graph(nil, level, msg, msg.At)
}

// graph decodes a graph. A message that occurs again merges into g; at is where it occurred
// first.
func (d *Decoder) graph(g *driver.Graph, level int, msg protobuf.Field, at int64) (*driver.Graph, error) {
	if g == nil {
		g = &driver.Graph{Initializers: d.Undeclared}
	}
	if err := d.graphFields(g, level, msg); err != nil {
		return g, err
	}
	if level > d.main {
		d.names = append(d.names[:0], g.Initializers...)
		if err := d.unique(d.Initializers, at); err != nil {
			return g, err
		}
	}
	if err := d.uniqueValues(d.Inputs, g.Inputs, at); err != nil {
		return g, err
	}
	if d.UniqueOutputs {
		return g, d.uniqueValues(d.Outputs, g.Outputs, at)
	}
	return g, nil
}

// graphFields decodes the fields of one piece.
func (d *Decoder) graphFields(g *driver.Graph, level int, msg protobuf.Field) error {
	n := d.Source.Count(msg)
	g.Nodes = slices.Grow(g.Nodes, min(n[d.Nodes], mostGrown))
	g.Inputs = slices.Grow(g.Inputs, min(n[d.Inputs], mostGrown))
	g.Outputs = slices.Grow(g.Outputs, min(n[d.Outputs], mostGrown))
	g.Initializers = slices.Grow(g.Initializers, min(n[d.Initializers], mostGrown))
	w := d.Source.Walk(d.Schema.Graph, msg, level)
	for w.Next() {
		switch w.Num {
		case d.Name:
			g.Name, w.Err = d.str(&w.Field)
		case d.Nodes:
			g.Nodes = append(g.Nodes, driver.Node{})
			w.Err = d.node(&g.Nodes[len(g.Nodes)-1], w.Def.Message, w.Field, level+1)
		case d.Inputs:
			g.Inputs, w.Err = d.value(g.Inputs, w.Def.Message, w.Field, level+1)
		case d.Outputs:
			g.Outputs, w.Err = d.value(g.Outputs, w.Def.Message, w.Field, level+1)
		case d.Initializers:
			var name []byte
			name, w.Err = d.Format.Initializer(w.Field, level+1, level == d.main)
			g.Initializers = append(g.Initializers, d.keep(name))
		default:
			d.other(&w, level, level == d.main)
		}
	}
	return w.Err
}

// mostGrown is how many elements a list has room for before it holds any.
const mostGrown = 1 << 16

// other checks a field that the neutral graph has no place for.
func (d *Decoder) other(w *protobuf.Walk, level int, main bool) {
	if w.Def != nil && w.Def.Message != nil && w.Def.Message == d.SparseTensor {
		w.Err = d.Format.Sparse(w.Field, level+1, main)
		return
	}
	w.Check()
}

// node decodes a node.
func (d *Decoder) node(to *driver.Node, m *protobuf.Message, msg protobuf.Field, level int) error {
	inputs, outputs, attributes := len(d.inputs), len(d.outputs), len(d.attributes)
	w := d.Source.Walk(m, msg, level)
	for w.Next() {
		switch w.Num {
		case d.Node.Inputs:
			var name string
			name, w.Err = d.str(&w.Field)
			d.inputs = append(d.inputs, name)
		case d.Node.Outputs:
			var name string
			name, w.Err = d.str(&w.Field)
			d.outputs = append(d.outputs, name)
		case nodeAttributes:
			var a driver.Attribute
			a, w.Err = d.attribute(w.Def.Message, w.Field, level+1)
			d.attributes = append(d.attributes, a)
		case d.Node.Name:
			to.Name, w.Err = d.str(&w.Field)
		case d.Node.Op:
			to.Op, w.Err = d.str(&w.Field)
		case nodeDomain:
			if w.Def != nil || d.Source.IsOurs(m, &w.Field) {
				to.Domain, w.Err = d.str(&w.Field)
			}
		default:
			w.Check()
		}
	}
	to.Inputs = d.edges.Keep(&d.inputs, inputs)
	to.Outputs = d.edges.Keep(&d.outputs, outputs)
	to.Attributes = d.attrs.Keep(&d.attributes, attributes)
	if w.Err != nil {
		return w.Err
	}
	d.names = d.names[:0]
	for i := range to.Attributes {
		d.names = append(d.names, to.Attributes[i].Name)
	}
	return protobuf.InField(m.Fields[nodeAttributes].Name, d.distinct(msg.At))
}

// attributeValues are the values that the fields of an attribute hold. Its type says
// which of them counts.
type attributeValues struct {
	typ      int32 // as the attribute says
	last     int32 // the type of the last field that holds a value
	float    float32
	integer  int64
	text     string
	floats   []float32
	integers []int64
	texts    []string
	tensor   tensor.View
	pieces   []protobuf.Field // of tensor
	graph    *driver.Graph
	graphAt  int64
	tensors  []tensor.View
	graphs   []*driver.Graph
}

// attribute decodes an attribute.
func (d *Decoder) attribute(m *protobuf.Message, msg protobuf.Field, level int) (a driver.Attribute, err error) {
	var v attributeValues
	s := d.Source
	w := s.Walk(m, msg, level)
	for w.Next() {
		if typ, ok := TypeOf(w.Num); ok {
			v.last = typ
		}
		switch w.Num {
		case attributeName:
			a.Name, w.Err = d.str(&w.Field)
		case attributeType:
			v.typ = int32(w.Val)
		case fieldOf(Float):
			v.float = math.Float32frombits(uint32(w.Val))
		case fieldOf(Int):
			v.integer = int64(w.Val)
		case fieldOf(String):
			v.text, w.Err = d.str(&w.Field)
		case fieldOf(Floats):
			v.floats, w.Err = protobuf.AppendFloats(s, d.floats.Grow(v.floats, w.N), &w.Field)
		case fieldOf(Ints):
			v.integers, w.Err = protobuf.AppendInts(s, d.integers.Grow(v.integers, w.N), &w.Field, math.MaxInt)
		case fieldOf(Strings):
			var text string
			text, w.Err = d.str(&w.Field)
			v.texts = append(v.texts, text)
		case fieldOf(Tensor):
			v.pieces = append(v.pieces, w.Field)
			switch {
			case d.Merges:
			case len(v.pieces) > 1:
				w.Err = protobuf.Defectf(w.At, tensor.ErrCorrupt, "it occurs twice")
			default:
				v.tensor, w.Err = d.Format.AttributeTensor(w.At, level+1, w.Field)
			}
		case fieldOf(Graph):
			if v.graph == nil {
				v.graphAt = w.At
			}
			v.graph, w.Err = d.graph(v.graph, level+1, w.Field, v.graphAt)
		case fieldOf(Tensors):
			var one tensor.View
			one, w.Err = d.Format.AttributeTensor(w.At, level+1, w.Field)
			v.tensors = append(v.tensors, one)
		case fieldOf(Graphs):
			var one *driver.Graph
			one, w.Err = d.graph(nil, level+1, w.Field, w.At)
			v.graphs = append(v.graphs, one)
		default:
			d.other(&w, level, false)
		}
	}
	if err = w.Err; err == nil && d.Merges && v.pieces != nil {
		v.tensor, err = d.Format.AttributeTensor(msg.At, level+1, v.pieces...)
		err = protobuf.InField(m.Fields[fieldOf(Tensor)].Name, err)
	}
	a.Value = v.value()
	return a, err
}

// value returns the value that counts, nil for one that is missing, and for types that the
// neutral form does not have.
func (v *attributeValues) value() any {
	if v.typ == Undefined {
		v.typ = v.last // old files do not say
	}
	switch v.typ {
	case Float:
		return v.float
	case Int:
		return v.integer
	case String:
		return v.text
	case Floats:
		return orEmpty(v.floats)
	case Ints:
		return orEmpty(v.integers)
	case Strings:
		return orEmpty(v.texts)
	case Tensors:
		return orEmpty(v.tensors)
	case Graphs:
		return orEmpty(v.graphs)
	}
	switch {
	case v.typ == Tensor && v.pieces != nil:
		return v.tensor
	case v.typ == Graph && v.graph != nil:
		return v.graph
	}
	return nil
}

// orEmpty returns a list that is not nil.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// value decodes what enters or leaves a graph.
func (d *Decoder) value(list []driver.ValueInfo, m *protobuf.Message, msg protobuf.Field, level int) ([]driver.ValueInfo, error) {
	var v driver.ValueInfo
	w := d.Source.Walk(m, msg, level)
	for w.Next() {
		switch w.Num {
		case valueName:
			v.Name, w.Err = d.str(&w.Field)
		case valueType:
			w.Err = d.valueType(&v, w.Def.Message, w.Field, level+1)
		default:
			w.Check()
		}
	}
	return append(list, v), w.Err
}

// valueType decodes the type of a value. That of anything but a tensor is not looked into.
func (d *Decoder) valueType(v *driver.ValueInfo, m *protobuf.Message, msg protobuf.Field, level int) error {
	w := d.Source.Walk(m, msg, level)
	for w.Next() {
		if w.Num != typeTensor {
			w.Check()
			continue
		}
		t := d.Source.Walk(w.Def.Message, w.Field, level+1)
		for t.Next() {
			switch t.Num {
			case tensorElem:
				v.Code = ""
				d.SetType(v, int32(t.Val))
			case tensorShape:
				t.Err = d.shape(v, t.Def.Message, t.Field, level+2)
			}
		}
		w.Err = t.Err
	}
	return w.Err
}

// shape decodes a shape. What is not known is nil, a scalar is empty.
func (d *Decoder) shape(v *driver.ValueInfo, m *protobuf.Message, msg protobuf.Field, level int) error {
	v.Dims = orEmpty(v.Dims)
	w := d.Source.Walk(m, msg, level)
	for w.Next() {
		if w.Num != shapeDim {
			continue
		}
		dim := driver.Dim{Size: driver.DynamicDim}
		x := d.Source.Walk(w.Def.Message, w.Field, level+1)
		for x.Next() {
			switch x.Num {
			case dimValue:
				dim.Size = int64(x.Val)
			case dimParam:
				dim.Symbol, x.Err = d.str(&x.Field)
			}
		}
		v.Dims, w.Err = append(v.Dims, dim), x.Err
	}
	return w.Err
}

// uniqueValues refuses names that occur twice among the values in a field of a graph.
func (d *Decoder) uniqueValues(num protowire.Number, list []driver.ValueInfo, at int64) error {
	d.names = d.names[:0]
	for i := range list {
		d.names = append(d.names, list[i].Name)
	}
	return d.unique(num, at)
}

// unique refuses equal names in d.names, which are of the messages in a field of a graph.
func (d *Decoder) unique(num protowire.Number, at int64) error {
	return protobuf.InField(d.Schema.Graph.Fields[num].Name, d.distinct(at))
}

// distinct refuses equal names in d.names.
func (d *Decoder) distinct(at int64) error {
	if len(d.names) < 2 {
		return nil
	}
	slices.Sort(d.names)
	for i, name := range d.names[1:] {
		if name == d.names[i] {
			return protobuf.Defectf(at, tensor.ErrCorrupt, "the name %.200q occurs twice", name)
		}
	}
	return nil
}

// str keeps the text of a field.
func (d *Decoder) str(f *protobuf.Field) (string, error) {
	b, err := d.Source.Bytes(f.Start, f.End)
	return d.keep(b), err
}

// keep returns a string in a piece of memory that many share.
func (d *Decoder) keep(b []byte) string {
	if len(b) > d.text.Cap()-d.text.Len() {
		d.text = strings.Builder{}
		d.text.Grow(max(len(b), int(min(d.Source.Size, mostText))))
	}
	at := d.text.Len()
	d.text.Write(b)
	return d.text.String()[at:]
}

const mostText = 32 << 10 // that a piece of memory has room for

// Arena is memory for lists of unknown length. Lists that it returned never move.
type Arena[T any] struct {
	free []T
	size int // of the piece that free is in
}

// Take returns an empty list with room for n elements.
func (a *Arena[T]) Take(n int) []T {
	if n > len(a.free) {
		a.size = max(n, min(2*a.size, mostElements), leastElements)
		a.free = make([]T, a.size)
	}
	list := a.free[:0:n]
	a.free = a.free[n:]
	return list
}

const leastElements, mostElements = 8, 1 << 10

// Keep cuts a stack off at a length, and returns what was above, nil for nothing.
func (a *Arena[T]) Keep(stack *[]T, base int) (list []T) {
	if top := (*stack)[base:]; len(top) > 0 {
		list = append(a.Take(len(top)), top...)
		*stack = (*stack)[:base]
	}
	return list
}

// Grow returns a list with room for n elements more.
func (a *Arena[T]) Grow(list []T, n int64) []T {
	if room := cap(list) - len(list); n > int64(room) {
		list = append(a.Take(2*len(list)+int(n)), list...)
	}
	return list
}
