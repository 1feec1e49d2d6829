package onnxgraph

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Decoder decodes one graph. It validates the encoding, counts elements against the limits of
// Source.Tally, rejects duplicate names, and builds the neutral graph. It reserves all memory
// before allocating it.
type Decoder struct {
	*Schema
	Source *protobuf.Source // in memory, with a Tally
	Format Format

	main       int // nesting level of the outermost graph
	names      []string
	text       strings.Builder
	strings    Arena[string]
	attributes Arena[driver.Attribute]
	integers   Arena[int64]
	floats     Arena[float32]
	dims       Arena[driver.Dim]
}

// Sizes of values in memory, including the name that is sorted to find duplicates.
const (
	nodeBytes      = 120
	valueBytes     = 64 + stringBytes
	attributeBytes = 64 + stringBytes
	dimBytes       = 24
	stringBytes    = 16
)

// objectBytes is the approximate size of a graph, or of a tensor with its view and model, in an
// attribute.
var objectBytes = [...]int64{Tensor: 400, Tensors: 400, Graph: 160, Graphs: 160}

// Format handles the tensors of a graph. level is the nesting level of a message.
type Format interface {
	// AttributeTensor validates a tensor in an attribute and returns its view. pieces has several
	// elements if the field occurs more than once. at is the offset for errors.
	AttributeTensor(at int64, level int, pieces ...protobuf.Field) (tensor.View, error)
	// Initializer validates an initializer and returns its name, or nil if the graph does not list it.
	// main says that it belongs to the outermost graph.
	Initializer(msg protobuf.Field, level int, main bool) ([]byte, error)
}

// Decode decodes the outermost graph, whose message is at the given nesting level.
func (d *Decoder) Decode(msg protobuf.Field, level int) (*driver.Graph, error) {
	d.main = level
	return d.graph(nil, level, msg, msg.At)
}

// graph decodes a graph. If its field occurs more than once, the messages are merged into g; at is
// the offset of the first.
func (d *Decoder) graph(g *driver.Graph, level int, msg protobuf.Field, at int64) (*driver.Graph, error) {
	if g == nil {
		g = &driver.Graph{Initializers: d.Undeclared}
	}
	if err := d.graphFields(g, level, msg); err != nil {
		return g, err
	}
	var err error
	if level > d.main {
		err = distinct(d, d.Schema.Graph, d.Initializers, g.Initializers, func(s *string) string { return *s }, at)
	}
	name := func(v *driver.ValueInfo) string { return v.Name }
	if err == nil {
		err = distinct(d, d.Schema.Graph, d.Inputs, g.Inputs, name, at)
	}
	if err == nil && d.UniqueOutputs {
		err = distinct(d, d.Schema.Graph, d.Outputs, g.Outputs, name, at)
	}
	return g, err
}

// graphFields decodes one of these messages.
func (d *Decoder) graphFields(g *driver.Graph, level int, msg protobuf.Field) error {
	w := d.Source.Walk(d.Schema.Graph, msg, level)
	if !d.Source.InFile { // a graph in a file is not read twice
		n := d.Source.Count(msg)
		g.Nodes = grow(d, &w, nil, g.Nodes, n[d.Nodes], nodeBytes)
		g.Inputs = grow(d, &w, nil, g.Inputs, n[d.Inputs], valueBytes)
		g.Outputs = grow(d, &w, nil, g.Outputs, n[d.Outputs], valueBytes)
		g.Initializers = grow(d, &w, nil, g.Initializers, n[d.Initializers], 2*stringBytes)
	}
	for w.Next() {
		switch w.Num {
		case d.Name:
			g.Name, w.Err = d.str(&w.Field)
		case d.Nodes:
			if g.Nodes = grow(d, &w, nil, g.Nodes, 1, nodeBytes); w.Err == nil {
				g.Nodes = append(g.Nodes, driver.Node{})
				w.Err = d.node(&g.Nodes[len(g.Nodes)-1], w.Def.Message, w.Field, level+1)
			}
		case d.Inputs:
			g.Inputs = d.value(&w, g.Inputs, level+1)
		case d.Outputs:
			g.Outputs = d.value(&w, g.Outputs, level+1)
		case d.Initializers:
			var name []byte
			if name, w.Err = d.Format.Initializer(w.Field, level+1, level == d.main); w.Err != nil || name == nil {
				continue
			}
			if g.Initializers = grow(d, &w, nil, g.Initializers, 1, 2*stringBytes); w.Err == nil {
				var text string
				text, w.Err = d.keep(w.At, name)
				g.Initializers = append(g.Initializers, text)
			}
		default:
			w.Check()
		}
	}
	return w.Err
}

// node decodes a node.
func (d *Decoder) node(to *driver.Node, m *protobuf.Message, msg protobuf.Field, level int) error {
	n, w := d.Source.Count(msg), d.Source.Walk(m, msg, level)
	to.Inputs = grow(d, &w, &d.strings, nil, n[d.Node.Inputs], stringBytes)
	to.Outputs = grow(d, &w, &d.strings, nil, n[d.Node.Outputs], stringBytes)
	to.Attributes = grow(d, &w, &d.attributes, nil, n[nodeAttributes], attributeBytes)
	for w.Next() {
		var text string
		switch w.Num {
		case d.Node.Inputs:
			text, w.Err = d.str(&w.Field)
			to.Inputs = append(to.Inputs, text)
		case d.Node.Outputs:
			text, w.Err = d.str(&w.Field)
			to.Outputs = append(to.Outputs, text)
		case nodeAttributes:
			var a driver.Attribute
			a, w.Err = d.attribute(w.Def.Message, w.Field, level+1)
			to.Attributes = append(to.Attributes, a)
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
	if w.Err != nil {
		return w.Err
	}
	return distinct(d, m, nodeAttributes, to.Attributes, func(a *driver.Attribute) string { return a.Name }, msg.At)
}

// attributeValues holds the values in all fields of an attribute. Its type determines which one
// counts.
type attributeValues struct {
	typ      int32 // from the attribute
	last     int32 // type of the last field that holds a value
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
			if w.Err = s.Tally.Charge(w.At, objectBytes[typ]); w.Err != nil {
				continue
			}
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
			if v.floats = grow(d, &w, &d.floats, v.floats, int(w.N), 4); w.Err == nil {
				v.floats, w.Err = protobuf.AppendFloats(s, v.floats, &w.Field)
			}
		case fieldOf(Ints):
			if v.integers = grow(d, &w, &d.integers, v.integers, int(w.N), 8); w.Err == nil {
				v.integers, w.Err = protobuf.AppendInts(s, v.integers, &w.Field, math.MaxInt)
			}
		case fieldOf(Strings):
			if v.texts = grow(d, &w, &d.strings, v.texts, 1, stringBytes); w.Err == nil {
				var text string
				text, w.Err = d.str(&w.Field)
				v.texts = append(v.texts, text)
			}
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
			w.Check()
		}
	}
	if err = w.Err; err == nil && d.Merges && v.pieces != nil {
		v.tensor, err = d.Format.AttributeTensor(msg.At, level+1, v.pieces...)
		err = protobuf.InField(m.Fields[fieldOf(Tensor)].Name, err)
	}
	a.Value = v.value()
	return a, err
}

// value returns the value for the type, or nil if it is missing or the neutral form lacks the type.
func (v *attributeValues) value() any {
	if v.typ == Undefined {
		v.typ = v.last // old files have no type
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

// orEmpty returns list, or an empty list instead of nil.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// value decodes an input or output of a graph.
func (d *Decoder) value(at *protobuf.Walk, list []driver.ValueInfo, level int) []driver.ValueInfo {
	if list = grow(d, at, nil, list, 1, valueBytes); at.Err != nil {
		return list
	}
	var v driver.ValueInfo
	w := d.Source.Walk(at.Def.Message, at.Field, level)
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
	at.Err = w.Err
	return append(list, v)
}

// valueType decodes the type of a value. It ignores types other than tensors.
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
				v.DType, v.Code = d.DType(int32(t.Val)), ""
				if v.DType == tensor.Invalid && int32(t.Val) != 0 {
					v.Code = strconv.Itoa(int(int32(t.Val)))
				}
			case tensorShape:
				t.Err = d.shape(v, t.Def.Message, t.Field, level+2)
			}
		}
		w.Err = t.Err
	}
	return w.Err
}

// shape decodes a shape: nil if unknown, empty for a scalar.
func (d *Decoder) shape(v *driver.ValueInfo, m *protobuf.Message, msg protobuf.Field, level int) error {
	w := d.Source.Walk(m, msg, level)
	v.Dims = orEmpty(grow(d, &w, &d.dims, v.Dims, d.Source.Count(msg)[shapeDim], dimBytes))
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

// distinct fails if elements of a field have the same name.
func distinct[T any](d *Decoder, m *protobuf.Message, num protowire.Number, list []T, name func(*T) string, at int64) error {
	if len(list) < 2 {
		return nil
	}
	d.names = slices.Grow(d.names[:0], len(list))
	for i := range list {
		d.names = append(d.names, name(&list[i]))
	}
	slices.Sort(d.names)
	for i, name := range d.names[1:] {
		if name == d.names[i] {
			return protobuf.InField(m.Fields[num].Name, protobuf.Defectf(at, tensor.ErrCorrupt, "the name %.200q occurs twice", name))
		}
	}
	return nil
}

// str returns the text of a field in the Decoder's memory.
func (d *Decoder) str(f *protobuf.Field) (string, error) {
	b, err := d.Source.Bytes(f.Start, f.End)
	if err != nil {
		return "", err
	}
	return d.keep(f.At, b)
}

// keep copies b to memory that is shared by many strings.
func (d *Decoder) keep(at int64, b []byte) (string, error) {
	if len(b) > d.text.Cap()-d.text.Len() {
		n := max(len(b), int(min(d.Source.Size, mostText)))
		if err := d.Source.Tally.Charge(at, int64(n)); err != nil {
			return "", err
		}
		d.text = strings.Builder{}
		d.text.Grow(n)
	}
	start := d.text.Len()
	d.text.Write(b)
	return d.text.String()[start:], nil
}

const mostText = 32 << 10 // of a block of shared memory

// grow returns list with room for n more elements of each bytes, and reserves the memory. If the
// limit is exceeded, the walk ends.
func grow[T any](d *Decoder, w *protobuf.Walk, a *Arena[T], list []T, n, each int) []T {
	if w.Err != nil || n <= cap(list)-len(list) {
		return list
	}
	n += 2 * len(list)
	if w.Err = d.Source.Tally.Charge(w.At, int64(n)*int64(each)); w.Err != nil {
		return list
	}
	return append(a.Take(n), list...)
}

// Arena allocates lists from larger blocks. Lists it returned never move.
type Arena[T any] struct {
	free []T
	size int // of the current block
}

// Take returns an empty list with capacity n. A nil Arena allocates it separately.
func (a *Arena[T]) Take(n int) []T {
	if a == nil || n > mostElements {
		return make([]T, 0, n)
	}
	if n > len(a.free) {
		a.size = max(n, min(2*a.size, mostElements), leastElements)
		a.free = make([]T, a.size)
	}
	list := a.free[:0:n]
	a.free = a.free[n:]
	return list
}

const leastElements, mostElements = 8, 1 << 10
