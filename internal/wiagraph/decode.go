package wiagraph

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format/schema"
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

	main int // nesting level of the outermost graph
	text strings.Builder
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
	// Initializer validates an initializer and returns its name, or nil if the graph does not list
	// it. main says that it belongs to the outermost graph.
	Initializer(msg protobuf.Field, level int, main bool) ([]byte, error)
}

// Decode decodes the outermost graph, whose message is at the given nesting level.
func (d *Decoder) Decode(msg protobuf.Field, level int) (*schema.Graph, error) {
	d.main = level
	return d.graph(nil, level, msg, msg.At)
}

// graph decodes a graph. If its field occurs more than once, the messages are merged into g; at is
// the offset of the first.
func (d *Decoder) graph(g *schema.Graph, level int, msg protobuf.Field, at int64) (*schema.Graph, error) {
	if g == nil {
		g = &schema.Graph{Initializers: []string{}}
	}
	m := d.Schema.Graph
	to := d.graphFields(g)
	if err := d.read(m, msg, level, &to); err != nil {
		return g, err
	}
	var err error
	if level > d.main {
		err = Distinct(m, d.Initializers, g.Initializers, func(s *string) string { return *s }, at)
	}
	name := func(v *schema.ValueInfo) string { return v.Name }
	err = cmp.Or(err, Distinct(m, d.Inputs, g.Inputs, name, at))
	if d.UniqueOutputs {
		err = cmp.Or(err, Distinct(m, d.Outputs, g.Outputs, name, at))
	}
	return g, err
}

// read decodes a message, and only checks the fields that have no place.
func (d *Decoder) read(m *protobuf.Message, msg protobuf.Field, level int, to *protobuf.Into) error {
	w := d.Source.Walk(m, msg, level)
	for w.Next() {
		d.field(&w, level, to)
	}
	return w.Err
}

// field decodes the current field of a message at a level.
func (d *Decoder) field(w *protobuf.Walk, level int, to *protobuf.Into) {
	f := &w.Field
	var place any
	if int(f.Num) < len(to) && (w.Def != nil || w.IsOurs()) {
		place = to[f.Num]
	}
	switch p := place.(type) {
	case *string:
		*p, w.Err = d.str(f)
	case *[]float32:
		if *p = grow(d, w, *p, 4); w.Err == nil {
			*p, w.Err = protobuf.AppendFloats(d.Source, *p, f)
		}
	case *[]int64:
		if *p = grow(d, w, *p, 8); w.Err == nil {
			*p, w.Err = protobuf.AppendInts(d.Source, *p, f, math.MaxInt)
		}
	case *[]string:
		if s := add(d, w, p, stringBytes); s != nil {
			*s, w.Err = d.str(f)
		}
	case *initializers:
		d.initializer(w, level, (*[]string)(p))
	case *[]schema.Node:
		if n := add(d, w, p, nodeBytes); n != nil {
			w.Err = d.node(n, w.Def.Message, *f, level+1)
		}
	case *[]schema.Attribute:
		if a := add(d, w, p, attributeBytes); a != nil {
			w.Err = d.attribute(a, w.Def.Message, *f, level+1)
		}
	case *[]protobuf.Field:
		if *p = append(*p, *f); len(*p) > 1 && !d.Merges {
			w.Err = protobuf.Corruptf("", f.At, "it occurs twice")
		}
	case *subgraph:
		if p.graph == nil {
			p.at = f.At
		}
		p.graph, w.Err = d.graph(p.graph, level+1, *f, p.at)
	case *[]*schema.Graph:
		var g *schema.Graph
		g, w.Err = d.graph(nil, level+1, *f, f.At)
		*p = append(*p, g)
	case *[]tensor.View:
		var v tensor.View
		v, w.Err = d.Format.AttributeTensor(f.At, level+1, *f)
		*p = append(*p, v)
	default:
		d.value(w, level, place, to)
	}
}

// value decodes a field of the inputs and outputs of a graph, or one that needs no memory.
func (d *Decoder) value(w *protobuf.Walk, level int, place any, to *protobuf.Into) {
	f := &w.Field
	switch p := place.(type) {
	case *[]schema.ValueInfo:
		if v := add(d, w, p, valueBytes); v != nil {
			inner := valueFields(v)
			w.Err = d.read(w.Def.Message, *f, level+1, &inner)
		}
	case *protobuf.Into:
		w.Err = d.read(w.Def.Message, *f, level+1, p)
	case *elemType:
		code := int32(f.Val)
		if p.DType, p.Code = d.DType(code), ""; p.DType == tensor.Invalid && code != 0 {
			p.Code = strconv.Itoa(int(code))
		}
	case *shape:
		*p = orEmpty(*p)
		w.Err = d.read(w.Def.Message, *f, level+1, &protobuf.Into{shapeDim: (*[]schema.Dim)(p)})
	case *[]schema.Dim:
		if dim := add(d, w, p, dimBytes); dim != nil {
			dim.Size = schema.DynamicDim
			w.Err = d.read(w.Def.Message, *f, level+1, &protobuf.Into{dimValue: &dim.Size, dimParam: &dim.Symbol})
		}
	default:
		w.Store(to)
	}
}

// node decodes a node.
func (d *Decoder) node(n *schema.Node, m *protobuf.Message, msg protobuf.Field, level int) error {
	to := d.nodeFields(n)
	if err := d.read(m, msg, level, &to); err != nil {
		return err
	}
	return Distinct(m, nodeAttributes, n.Attributes, func(a *schema.Attribute) string { return a.Name }, msg.At)
}

// initializer decodes an initializer of a graph at a level.
func (d *Decoder) initializer(w *protobuf.Walk, level int, list *[]string) {
	var name []byte
	if name, w.Err = d.Format.Initializer(w.Field, level+1, level == d.main); w.Err != nil || name == nil {
		return
	}
	if s := add(d, w, list, 2*stringBytes); s != nil {
		*s, w.Err = d.keep(w.At, name)
	}
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
	pieces   []protobuf.Field // of the tensor
	tensor   tensor.View
	graph    subgraph
	tensors  []tensor.View
	graphs   []*schema.Graph
}

// subgraph is a graph in an attribute, which begins at an offset.
type subgraph struct {
	graph *schema.Graph
	at    int64
}

// attribute decodes an attribute.
func (d *Decoder) attribute(a *schema.Attribute, m *protobuf.Message, msg protobuf.Field, level int) (err error) {
	var v attributeValues
	to := protobuf.Into{
		attributeName: &a.Name,
		Float + 1:     &v.float, Int + 1: &v.integer, String + 1: &v.text, Tensor + 1: &v.pieces, Graph + 1: &v.graph,
		Floats + 1: &v.floats, Ints + 1: &v.integers, Strings + 1: &v.texts, Tensors + 1: &v.tensors, Graphs + 1: &v.graphs,
	}
	w := d.Source.Walk(m, msg, level)
	for w.Next() {
		if typ := int32(w.Num) - 1; typ > Undefined && typ <= Graphs {
			v.last = typ
			if w.Err = d.Source.Tally.Charge(w.At, objectBytes[typ]); w.Err != nil {
				continue
			}
		}
		if w.Num == attributeType {
			v.typ = int32(w.Val)
			continue
		}
		d.field(&w, level, &to)
	}
	err = w.Err
	// The errors of a tensor that is not merged precede those behind it.
	if v.pieces != nil && (err == nil || !d.Merges) {
		v.tensor, err = d.Format.AttributeTensor(msg.At, level+1, v.pieces...)
		err = cmp.Or(protobuf.InField(m.Fields[fieldOf(Tensor)].Name, err), w.Err)
	}
	a.Value = v.value()
	return err
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
	case v.typ == Graph && v.graph.graph != nil:
		return v.graph.graph
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

// Distinct fails if elements of a field have the same name.
func Distinct[T any](m *protobuf.Message, num protowire.Number, list []T, name func(*T) string, at int64) error {
	if len(list) < 2 {
		return nil
	}
	sorted := make([]string, 0, len(list))
	for i := range list {
		sorted = append(sorted, name(&list[i]))
	}
	slices.Sort(sorted)
	for i, name := range sorted[1:] {
		if name == sorted[i] {
			return protobuf.Corruptf(m.Fields[num].Name, at, "the name %.200q occurs twice", name)
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

// grow returns list with room for the values of the current field and of the same fields that
// follow it, of each bytes, and reserves the memory. If the limit is exceeded, the walk ends. It
// does not look for the nodes of a graph in a file, which it would read twice.
func grow[T any](d *Decoder, w *protobuf.Walk, list []T, each int) []T {
	n := int(w.N)
	if n <= cap(list)-len(list) {
		return list
	}
	if !d.Source.InFile || each < nodeBytes {
		n = max(n, w.Run())
	}
	n += 2 * len(list)
	if w.Err = d.Source.Tally.Charge(w.At, int64(n)*int64(each)); w.Err != nil {
		return list
	}
	return append(make([]T, 0, n), list...)
}

// add appends an element to a list and returns it, or nil if the limit is exceeded.
func add[T any](d *Decoder, w *protobuf.Walk, list *[]T, each int) *T {
	if *list = grow(d, w, *list, each); w.Err != nil {
		return nil
	}
	*list = (*list)[:len(*list)+1]
	return &(*list)[len(*list)-1]
}
