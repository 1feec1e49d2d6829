package onnxgraph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// MaxTensor limits the data of a tensor in a graph. Larger tensors belong in the model's list of
// tensors.
const MaxTensor = 1 << 30

// AppendGraph appends the encoding of g without its initializers. The formats have no double, so
// float64 is rounded to float32; a bool becomes 0 or 1, and JSON becomes its text.
func (sc *Schema) AppendGraph(b []byte, g *driver.Graph) ([]byte, error) {
	w := writer{Schema: sc}
	return w.graph(b, "", g)
}

// Same reports whether two graphs are equal, including what the encoding cannot represent.
func (sc *Schema) Same(a, b *driver.Graph) bool {
	w := writer{Schema: sc, compared: true}
	x, err := w.graph(nil, "", a)
	if err != nil {
		return false
	}
	y, err := w.graph(make([]byte, 0, len(x)+1), "", b)
	return err == nil && bytes.Equal(x, y)
}

// Losses lists what the format cannot represent of a plan's graph.
func (sc *Schema) Losses(p *driver.Plan, l *driver.LossList) {
	w := writer{Schema: sc, report: func(name, why string) { l.Converted(driver.LossValue, name, why) }}
	w.values(nil, sc.Inputs, "", p.Graph.Inputs)
	w.values(nil, sc.Outputs, "", p.Graph.Outputs)
	var found [][2]string
	w.report = func(name, why string) { found = append(found, [2]string{name, why}) }
	for i := range p.Graph.Nodes {
		for j := range p.Graph.Nodes[i].Attributes {
			found = found[:0]
			if _, err := w.attribute(nil, driver.AttributeName(p, i, j), &p.Graph.Nodes[i].Attributes[j]); err != nil {
				l.Attribute(p, i, j, err)
				continue
			}
			for _, f := range found {
				l.Converted(driver.LossConversion, f[0], f[1])
			}
		}
	}
}

// writer encodes neutral graphs.
type writer struct {
	*Schema
	// report, if not nil, is called with the path of each value that must be converted. Tensor data
	// is then left out. It is nil while a file is written.
	report func(path, why string)
	// compared says that the result is only for comparison: it includes everything, and nothing is
	// an error.
	compared bool
}

// compare appends values that a file cannot represent, if the result is for comparison.
func (w *writer) compare(b []byte, args ...any) []byte {
	if !w.compared {
		return b
	}
	return protobuf.PutBytes(b, 31, fmt.Sprintln(args...))
}

func (w *writer) converts(path, why string) {
	if w.report != nil {
		w.report(path, why)
	}
}

// graph appends the fields of a graph in ascending order.
func (w *writer) graph(b []byte, path string, g *driver.Graph) (_ []byte, err error) {
	if path != "" {
		path += "."
	}
	for num := protowire.Number(1); num <= max(w.Nodes, w.Outputs); num++ {
		switch num {
		case w.Name:
			b = protobuf.PutText(b, num, g.Name)
		case w.Inputs:
			b = w.values(b, num, path, g.Inputs)
		case w.Outputs:
			b = w.values(b, num, path, g.Outputs)
		case w.Nodes:
			for i := range g.Nodes {
				start := 0
				b, start = protobuf.Begin(b, num)
				if b, err = w.node(b, path, i, &g.Nodes[i]); err != nil {
					return nil, err
				}
				b = protobuf.End(b, start)
			}
		}
	}
	return w.compare(b, len(g.Initializers), g.Initializers), nil
}

// node appends the fields of node i in ascending order.
func (w *writer) node(b []byte, path string, i int, n *driver.Node) (_ []byte, err error) {
	for num := protowire.Number(1); num <= nodeDomain; num++ {
		switch num {
		case w.Node.Name:
			b = protobuf.PutText(b, num, n.Name)
		case w.Node.Op:
			b = protobuf.PutText(b, num, n.Op)
		case w.Node.Inputs:
			b = putAll(b, num, n.Inputs)
		case w.Node.Outputs:
			b = putAll(b, num, n.Outputs)
		case nodeDomain:
			b = protobuf.PutText(b, num, n.Domain)
		case nodeAttributes:
			for j := range n.Attributes {
				a, start := &n.Attributes[j], 0
				inner := ""
				if w.report != nil {
					inner = fmt.Sprintf("%snodes[%d].%s", path, i, a.Name)
				}
				b, start = protobuf.Begin(b, num)
				if b, err = w.attribute(b, inner, a); err != nil {
					return nil, fmt.Errorf("nodes[%d]: attribute %q: %w", i, a.Name, err)
				}
				b = protobuf.End(b, start)
			}
		}
	}
	return b, nil
}

// putAll appends all strings of a list, including "", a missing optional input.
func putAll(b []byte, num protowire.Number, list []string) []byte {
	for _, s := range list {
		b = protobuf.PutBytes(b, num, s)
	}
	return b
}

// values appends the inputs, outputs or values of a graph.
func (w *writer) values(b []byte, num protowire.Number, prefix string, list []driver.ValueInfo) []byte {
	for i := range list {
		v := &list[i]
		switch code := w.Code(v.DType); {
		case v.DType != tensor.Invalid && code == 0:
			w.converts(prefix+v.Name, fmt.Sprintf("the format has no %v", v.DType))
		case v.DType == tensor.Invalid && v.Code != "":
			w.converts(prefix+v.Name, "the dtype code "+v.Code+" means nothing here")
		}
		b = w.value(b, num, v)
	}
	return b
}

// value appends one of them. A value without type and shape stays untyped.
func (w *writer) value(b []byte, num protowire.Number, v *driver.ValueInfo) []byte {
	b, start := protobuf.Begin(b, num)
	b = w.compare(protobuf.PutText(b, valueName, v.Name), v.DType, v.Code)
	if v.DType == tensor.Invalid && v.Dims == nil {
		return protobuf.End(b, start)
	}
	b, typ := protobuf.Begin(b, valueType)
	b, of := protobuf.Begin(b, typeTensor)
	b = protobuf.PutInt(b, tensorElem, int64(w.Code(v.DType)))
	b = appendDims(b, v.Dims)
	return protobuf.End(protobuf.End(protobuf.End(b, of), typ), start)
}

// appendDims appends the shape of a value, or nothing if it is unknown.
func appendDims(b []byte, dims []driver.Dim) []byte {
	if dims == nil {
		return b
	}
	b, shape := protobuf.Begin(b, tensorShape)
	for _, d := range dims {
		one := 0
		b, one = protobuf.Begin(b, shapeDim)
		switch {
		case d.Symbol != "":
			b = protobuf.PutBytes(b, dimParam, d.Symbol)
		case d.Size != driver.DynamicDim:
			b = protobuf.PutVarint(b, dimValue, d.Size)
		}
		b = protobuf.End(b, one)
	}
	return protobuf.End(b, shape)
}

// attribute appends the fields of an attribute: its name, its value in the field for the type, and
// the type.
func (w *writer) attribute(b []byte, path string, a *driver.Attribute) (_ []byte, err error) {
	b = protobuf.PutText(b, attributeName, a.Name)
	value, err := w.convert(path, a.Value)
	if err != nil {
		return nil, err
	}
	typ, zero, before := int32(Undefined), false, len(b)
	switch v := value.(type) {
	case nil:
		if w.Explicit && w.report != nil {
			err = fmt.Errorf("%w: an attribute without a value", driver.ErrUnsupported)
		}
	case int64:
		typ, zero, b = Int, v == 0, protobuf.PutVarint(b, fieldOf(Int), v)
	case float32: // -0 and NaN are not zero
		typ, zero, b = Float, math.Float32bits(v) == 0, protobuf.PutFloat(b, fieldOf(Float), v)
	case string:
		typ, zero, b = String, v == "", protobuf.PutBytes(b, fieldOf(String), v)
	case []int64:
		typ, b = Ints, protobuf.PutInts(b, fieldOf(Ints), v)
	case []int32:
		typ, b = Ints, protobuf.PutInts(b, fieldOf(Ints), v)
	case []float32:
		typ, b = Floats, protobuf.PutFloats(b, fieldOf(Floats), v)
	case []string:
		typ, b = Strings, putAll(b, fieldOf(Strings), v)
	case tensor.View:
		typ = Tensor
		b, err = w.tensor(b, fieldOf(typ), v)
	case []tensor.View:
		typ = Tensors
		for i := 0; i < len(v) && err == nil; i++ {
			b, err = w.tensor(b, fieldOf(typ), v[i])
		}
	case *driver.Graph:
		typ = Graph
		b, err = w.subgraph(b, fieldOf(typ), path, v)
	case []*driver.Graph:
		typ = Graphs
		for i := 0; i < len(v) && err == nil; i++ {
			b, err = w.subgraph(b, fieldOf(typ), fmt.Sprintf("%s[%d]", path, i), v[i])
		}
	default:
		err = fmt.Errorf("%w: a value of type %s", driver.ErrUnsupported, driver.TypeName(value))
	}
	if zero && !w.Explicit {
		b = b[:before]
	}
	return protobuf.PutInt(b, attributeType, int64(typ)), err
}

// convert returns a value of a type that the format has.
func (w *writer) convert(path string, value any) (any, error) {
	switch v := value.(type) {
	case bool:
		w.converts(path, "the format has no bool, an integer takes its place")
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case json.RawMessage:
		w.converts(path, "the format has no JSON values, a string takes its place")
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
	out, reported := make([]float32, len(list)), false
	for i, x := range list {
		f := float32(x)
		if math.IsInf(float64(f), 0) && !math.IsInf(x, 0) {
			return nil, fmt.Errorf("%w: %g is too large for a float32", driver.ErrUnsupported, x)
		}
		out[i] = f
		if w.report != nil && !reported && strconv.FormatFloat(x, 'g', -1, 64) != strconv.FormatFloat(float64(f), 'g', -1, 32) {
			w.report(path, fmt.Sprintf("the format has no float64, %v is rounded to %v", x, f))
			reported = true
		}
	}
	return out, nil
}

// subgraph appends a graph attribute.
func (w *writer) subgraph(b []byte, num protowire.Number, path string, g *driver.Graph) (_ []byte, err error) {
	b, start := protobuf.Begin(b, num)
	if g != nil && len(g.Initializers) > 0 && !w.compared {
		return nil, fmt.Errorf("%w: initializers of a subgraph, which only a copy within the format keeps", driver.ErrUnsupported)
	}
	if g != nil {
		if b, err = w.graph(b, path, g); err != nil {
			return nil, err
		}
	}
	return protobuf.End(b, start), nil
}

// tensor appends a tensor attribute with its data.
func (w *writer) tensor(b []byte, num protowire.Number, v tensor.View) ([]byte, error) {
	info := v.Info()
	if err := w.CheckTensor(&info); err != nil && !w.compared {
		return nil, err
	}
	if info.Size > MaxTensor {
		return nil, fmt.Errorf("%w: a tensor of %d bytes inside a graph", tensor.ErrLimit, info.Size)
	}
	if w.report != nil {
		return b, nil
	}
	var data []byte
	c, err := v.Clone()
	if err == nil {
		data, err = c.Bytes()
	}
	if err != nil && !w.compared {
		return nil, err
	}
	b, start := protobuf.Begin(b, num)
	b = w.compare(b, info.TypeName(), info.Quant)
	return protobuf.End(w.AppendTensor(b, &info, data), start), nil
}
