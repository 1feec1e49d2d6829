package onnxgraph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
)

// MaxTensor limits the data of a tensor in a graph. Larger tensors belong in the model's list of
// tensors.
const MaxTensor = 1 << 30

// AppendGraph appends the encoding of g without its initializers; those of graphs in attributes are
// in inner. The formats have no double, so float64 is rounded to float32; a bool becomes 0 or 1, and
// JSON becomes its text.
func (d *Dialect) AppendGraph(b []byte, g *schema.Graph, inner Subgraphs) ([]byte, error) {
	w := writer{Dialect: d, inner: inner}
	return w.graph(b, "", g, nil)
}

// SameNodes reports whether two graphs are equal but for their initializers, including what the
// encoding cannot represent.
func (d *Dialect) SameNodes(a, b *schema.Graph) bool {
	if a == nil || b == nil {
		return a == b
	}
	w := writer{Dialect: d, compared: true}
	one, err := w.graph(nil, "", a, nil)
	if err != nil {
		return false
	}
	other, err := w.graph(make([]byte, 0, len(one)+1), "", b, nil)
	return err == nil && bytes.Equal(one, other)
}

// Losses lists what the format cannot represent of a schema's graph. inner has the initializers of
// graphs in attributes.
func (d *Dialect) Losses(p *schema.Schema, inner Subgraphs, l *schema.LossList) {
	report := func(name, why string) { l.Converted(schema.LossValue, name, why) }
	w := writer{Dialect: d, report: report}
	w.values(nil, d.GraphFields.Inputs, "", p.Graph.Inputs)
	w.values(nil, d.GraphFields.Outputs, "", p.Graph.Outputs)
	for i := range p.Graph.Nodes {
		d.nodeLosses(p, i, inner, l)
	}
}

// nodeLosses lists what the format cannot represent of node i. Without the graph in an attribute,
// the node would be invalid.
func (d *Dialect) nodeLosses(p *schema.Schema, i int, inner Subgraphs, l *schema.LossList) {
	n := &p.Graph.Nodes[i]
	for j := range n.Attributes {
		err := d.attributeLosses(p, i, j, inner, l)
		if errors.Is(err, errInitializers) {
			l.Graph(fmt.Sprintf("nodes[%d] (%s)", i, n.Op), err)
			return
		}
		if err != nil {
			l.Attribute(p, i, j, err)
		}
	}
}

// attributeLosses lists what the format converts of attribute j of node i. It returns an error for
// an attribute that it cannot represent.
func (d *Dialect) attributeLosses(
	p *schema.Schema, i, j int, inner Subgraphs, l *schema.LossList,
) error {
	var found [][2]string
	w := writer{Dialect: d, inner: inner}
	w.report = func(name, why string) { found = append(found, [2]string{name, why}) }
	n := &p.Graph.Nodes[i]
	w.enter("", n.Outputs, n.Attributes[j].Name)
	_, err := w.attribute(nil, schema.AttributeName(p, i, j), &n.Attributes[j])
	if err != nil {
		return err
	}
	for _, f := range found {
		l.Converted(schema.LossConversion, f[0], f[1])
	}
	return nil
}

// writer encodes neutral graphs, the fields of a message in ascending order.
type writer struct {
	*Dialect
	// report, if not nil, is called with the path of each value that must be converted. Tensor data
	// is then left out. It is nil while a file is written.
	report func(path, why string)
	// compared says that the result is only for comparison: it includes everything, and nothing is
	// an error.
	compared bool
	inner    Subgraphs
	scope    string // the key in inner of the attribute or graph that is written
}

// errInitializers is the error of a graph in an attribute that has lost its initializers.
var errInitializers = errors.New(
	"initializers of a subgraph, which only a copy within the format keeps")

// enter sets the scope to that of an attribute.
func (w *writer) enter(graph string, outputs []string, name string) {
	if w.inner != nil {
		w.scope = scopeOf(graph, outputs, name)
	}
}

// compare appends values that a file cannot represent, if the result is for comparison.
func (w *writer) compare(b []byte, args ...any) []byte {
	if !w.compared {
		return b
	}
	return messages.AppendBytes(b, 31, fmt.Sprintln(args...))
}

func (w *writer) converts(path, why string) {
	if w.report != nil {
		w.report(path, why)
	}
}

// graph appends the fields of a graph with encoded initializers.
func (w *writer) graph(
	b []byte, path string, g *schema.Graph, initializers []byte,
) (_ []byte, err error) {
	f := &w.GraphFields
	for number := 1; number <= max(f.Nodes, f.Outputs, f.Initializers); number++ {
		switch number {
		case f.Initializers:
			b = append(b, initializers...)
		case f.Name:
			b = messages.AppendText(b, number, g.Name)
		case f.Nodes:
			b, err = w.nodes(b, path, g.Nodes)
			if err != nil {
				return nil, err
			}
		case f.Inputs:
			b = w.values(b, number, path, g.Inputs)
		case f.Outputs:
			b = w.values(b, number, path, g.Outputs)
		}
	}
	return b, nil
}

// nodes appends all nodes of a graph.
func (w *writer) nodes(b []byte, path string, nodes []schema.Node) (_ []byte, err error) {
	for i := range nodes {
		inner := ""
		if w.report != nil {
			inner = fmt.Sprintf("%snodes[%d].", path, i)
		}
		var start int
		b, start = messages.Begin(b, w.GraphFields.Nodes)
		b, err = w.node(b, inner, &nodes[i])
		if err != nil {
			return nil, fmt.Errorf("nodes[%d]: %w", i, err)
		}
		b = messages.End(b, start)
	}
	return b, nil
}

// node appends the fields of a node.
func (w *writer) node(b []byte, path string, n *schema.Node) (_ []byte, err error) {
	f := &w.NodeFields
	for number := 1; number <= nodeDomain; number++ {
		switch number {
		case f.Name:
			b = messages.AppendText(b, number, n.Name)
		case f.Op:
			b = messages.AppendText(b, number, n.Op)
		case f.Inputs:
			b = appendAll(b, number, n.Inputs)
		case f.Outputs:
			b = appendAll(b, number, n.Outputs)
		case nodeAttributes:
			b, err = w.attributes(b, path, n)
			if err != nil {
				return nil, err
			}
		case nodeDomain:
			b = messages.AppendText(b, number, n.Domain)
		}
	}
	return b, nil
}

// attributes appends all attributes of a node.
func (w *writer) attributes(b []byte, path string, n *schema.Node) (_ []byte, err error) {
	graph := w.scope
	for i := range n.Attributes {
		a := &n.Attributes[i]
		w.enter(graph, n.Outputs, a.Name)
		var start int
		b, start = messages.Begin(b, nodeAttributes)
		b, err = w.attribute(b, path+a.Name, a)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", a.Name, err)
		}
		b = messages.End(b, start)
	}
	w.scope = graph
	return b, nil
}

// appendAll appends all strings of a list, including "", a missing optional input.
func appendAll(b []byte, number int, list []string) []byte {
	for _, s := range list {
		b = messages.AppendBytes(b, number, s)
	}
	return b
}

// values appends the inputs or outputs of a graph. A value without type and shape stays untyped,
// and an unknown shape is left out.
func (w *writer) values(b []byte, number int, path string, list []schema.ValueInfo) []byte {
	for i := range list {
		v := &list[i]
		switch {
		case v.DType != tensor.Invalid && w.Code(v.DType) == 0:
			w.converts(path+v.Name, fmt.Sprintf("the format has no %v", v.DType))
		case v.DType == tensor.Invalid && v.Code != "":
			w.converts(path+v.Name, "the dtype code "+v.Code+" means nothing here")
		}
		b = w.compare(b, v.DType, v.Code)
		var start int
		b, start = messages.Begin(b, number)
		b = messages.AppendText(b, valueName, v.Name)
		if v.DType != tensor.Invalid || v.Dims != nil {
			b = w.valueType(b, v)
		}
		b = messages.End(b, start)
	}
	return b
}

// valueType appends the type of a value.
func (w *writer) valueType(b []byte, v *schema.ValueInfo) []byte {
	b, typ := messages.Begin(b, valueType)
	b, ofTensor := messages.Begin(b, tensorType)
	b = messages.AppendInt(b, tensorElem, int64(w.Code(v.DType)))
	if v.Dims != nil {
		var shape int
		b, shape = messages.Begin(b, tensorShape)
		for _, d := range v.Dims {
			b = appendDim(b, d)
		}
		b = messages.End(b, shape)
	}
	b = messages.End(b, ofTensor)
	return messages.End(b, typ)
}

func appendDim(b []byte, d schema.Dim) []byte {
	b, start := messages.Begin(b, shapeDim)
	switch {
	case d.Symbol != "":
		b = messages.AppendText(b, dimParam, d.Symbol)
	case d.Size != schema.DynamicDim:
		b = messages.AppendVarint(b, dimValue, d.Size)
	}
	return messages.End(b, start)
}

// attribute appends the fields of an attribute: its name, its value in the field for the type, and
// the type.
func (w *writer) attribute(b []byte, path string, a *schema.Attribute) ([]byte, error) {
	b = messages.AppendText(b, attributeName, a.Name)
	value, err := w.convert(path, a.Value)
	if err != nil {
		return nil, err
	}
	before := len(b)
	b, typ, err := w.attributeValue(b, path, value)
	if err != nil {
		return nil, err
	}
	if isZero(value) && !w.Explicit {
		b = b[:before]
	}
	return messages.AppendInt(b, attributeType, int64(typ)), nil
}

// isZero reports whether a value is what an absent field says. -0 and NaN are not zero.
func isZero(value any) bool {
	switch v := value.(type) {
	case int64:
		return v == 0
	case float32:
		return math.Float32bits(v) == 0
	case string:
		return v == ""
	}
	return false
}

// attributeValue appends the value of an attribute, and returns its type.
func (w *writer) attributeValue(b []byte, path string, value any) (_ []byte, typ int, err error) {
	switch v := value.(type) {
	case nil:
		if w.Explicit && w.report != nil {
			return nil, 0, fmt.Errorf("%w: an attribute without a value", tensor.ErrUnsupported)
		}
		return b, typeUndefined, nil
	case int64:
		return messages.AppendVarint(b, attributeInt, v), typeInt, nil
	case float32:
		return messages.AppendFloat(b, attributeFloat, v), typeFloat, nil
	case string:
		return messages.AppendBytes(b, attributeString, v), typeString, nil
	case []int64:
		return messages.AppendPackedInts(b, attributeInts, v), typeInts, nil
	case []int32:
		return messages.AppendPackedInts(b, attributeInts, v), typeInts, nil
	case []float32:
		return messages.AppendPackedFloats(b, attributeFloats, v), typeFloats, nil
	case []string:
		return appendAll(b, attributeStrings, v), typeStrings, nil
	case tensor.View:
		b, err = w.tensor(b, attributeTensor, v)
		return b, typeTensor, err
	case []tensor.View:
		b, err = w.tensors(b, v)
		return b, typeTensors, err
	case *schema.Graph:
		b, err = w.subgraph(b, attributeGraph, path, v)
		return b, typeGraph, err
	case []*schema.Graph:
		b, err = w.subgraphs(b, path, v)
		return b, typeGraphs, err
	}
	return nil, 0, fmt.Errorf("%w: a value of type %s", tensor.ErrUnsupported, schema.TypeName(value))
}

// convert returns a value of a type that the format has.
func (w *writer) convert(path string, value any) (any, error) {
	switch v := value.(type) {
	case bool:
		w.converts(path, "the format has no bool; it becomes an integer")
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case json.RawMessage:
		w.converts(path, "the format has no JSON values; it becomes a string")
		return string(v), nil
	case float64:
		list, err := w.floats(path, v)
		if err != nil {
			return nil, err
		}
		return list[0], nil
	case []float64:
		return w.floats(path, v...)
	}
	return value, nil
}

// floats rounds to float32, and fails if a finite value becomes infinite. Values are compared as
// decimal text, since 0.1 is the same value in either precision but has different bits.
func (w *writer) floats(path string, list ...float64) ([]float32, error) {
	out := make([]float32, len(list))
	reported := false
	for i, x := range list {
		f := float32(x)
		if math.IsInf(float64(f), 0) && !math.IsInf(x, 0) {
			return nil, fmt.Errorf("%w: %g is too large for a float32", tensor.ErrUnsupported, x)
		}
		out[i] = f
		if w.report != nil && !reported && shortest(x, 64) != shortest(float64(f), 32) {
			w.report(path, fmt.Sprintf("the format has no float64, %v is rounded to %v", x, f))
			reported = true
		}
	}
	return out, nil
}

func shortest(x float64, bits int) string { return strconv.FormatFloat(x, 'g', -1, bits) }

// subgraph appends a graph attribute.
func (w *writer) subgraph(b []byte, number int, path string, g *schema.Graph) ([]byte, error) {
	if g == nil {
		g = &schema.Graph{}
	}
	var initializers []byte
	if len(g.Initializers) > 0 && !w.compared {
		in := w.inner[w.scope]
		if in == nil || in.twice || !slices.Equal(in.names, g.Initializers) {
			return nil, fmt.Errorf("%w: %w", tensor.ErrUnsupported, errInitializers)
		}
		initializers = in.fields
	}
	b = w.compare(b, len(g.Initializers), g.Initializers)
	b, start := messages.Begin(b, number)
	b, err := w.graph(b, path+".", g, initializers)
	if err != nil {
		return nil, err
	}
	return messages.End(b, start), nil
}

// subgraphs appends the graphs of a list.
func (w *writer) subgraphs(b []byte, path string, list []*schema.Graph) (_ []byte, err error) {
	attribute := w.scope
	for i, g := range list {
		w.scope = fmt.Sprintf("%s[%d]", attribute, i)
		b, err = w.subgraph(b, attributeGraphs, fmt.Sprintf("%s[%d]", path, i), g)
		if err != nil {
			return nil, err
		}
	}
	w.scope = attribute
	return b, nil
}

// tensors appends the tensors of a list.
func (w *writer) tensors(b []byte, list []tensor.View) (_ []byte, err error) {
	for _, v := range list {
		b, err = w.tensor(b, attributeTensors, v)
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// tensor appends a tensor attribute with its data.
func (w *writer) tensor(b []byte, number int, v tensor.View) ([]byte, error) {
	info := v.Info()
	err := w.CheckTensor(&info)
	if err != nil && !w.compared {
		return nil, err
	}
	if info.Size > MaxTensor {
		return nil, fmt.Errorf("%w: a tensor of %d bytes inside a graph", tensor.ErrLimit, info.Size)
	}
	if w.report != nil {
		return b, nil
	}
	data, err := dataOf(v)
	if err != nil && !w.compared {
		return nil, err
	}
	b, start := messages.Begin(b, number)
	b = w.compare(b, info.TypeName(), info.Quant)
	b = w.AppendTensor(b, &info, data)
	return messages.End(b, start), nil
}

// dataOf returns the data of a tensor that no other process changes.
func dataOf(v tensor.View) ([]byte, error) {
	c, err := v.Clone()
	if err != nil {
		return nil, err
	}
	return c.Bytes()
}
