package wiagraph

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// MaxTensor limits the data of a tensor in a graph. Larger tensors belong in the model's list of
// tensors.
const MaxTensor = 1 << 30

// AppendGraph appends the encoding of g without its initializers. The formats have no double, so
// float64 is rounded to float32; a bool becomes 0 or 1, and JSON becomes its text.
func (sc *Schema) AppendGraph(b []byte, g *schema.Graph) ([]byte, error) {
	w := writer{Schema: sc}
	from := sc.graphFields(g)
	return w.fields(b, "", &from)
}

// sameNodes reports whether two graphs are equal but for their initializers, including what the
// encoding cannot represent.
func (sc *Schema) sameNodes(a, b *schema.Graph) bool {
	if a == nil || b == nil {
		return a == b
	}
	var encoded [2][]byte
	for i, g := range []schema.Graph{*a, *b} {
		w := writer{Schema: sc, compared: true}
		from := sc.graphFields(&g)
		var err error
		if encoded[i], err = w.fields(make([]byte, 0, len(encoded[0])+1), "", &from); err != nil {
			return false
		}
	}
	return bytes.Equal(encoded[0], encoded[1])
}

// Losses lists what the format cannot represent of a schema's graph.
func (sc *Schema) Losses(p *schema.Schema, l *schema.LossList) {
	w := writer{Schema: sc, report: func(name, why string) { l.Converted(schema.LossValue, name, why) }}
	_, _ = w.field(nil, sc.Inputs, "", &p.Graph.Inputs)
	_, _ = w.field(nil, sc.Outputs, "", &p.Graph.Outputs)
	var found [][2]string
	w.report = func(name, why string) { found = append(found, [2]string{name, why}) }
	for i := range p.Graph.Nodes {
		for j := range p.Graph.Nodes[i].Attributes {
			found = found[:0]
			if _, err := w.attribute(nil, schema.AttributeName(p, i, j), &p.Graph.Nodes[i].Attributes[j]); err != nil {
				l.Attribute(p, i, j, err)
				continue
			}
			for _, f := range found {
				l.Converted(schema.LossConversion, f[0], f[1])
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

// fields appends the fields of a message in ascending order.
func (w *writer) fields(b []byte, path string, from *protobuf.Into) (_ []byte, err error) {
	for num, place := range from {
		if b, err = w.field(b, protowire.Number(num), path, place); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// nested appends a message.
func (w *writer) nested(b []byte, num protowire.Number, path string, from *protobuf.Into) (_ []byte, err error) {
	b, start := protobuf.Begin(b, num)
	if b, err = w.fields(b, path, from); err != nil {
		return nil, err
	}
	return protobuf.End(b, start), nil
}

// field appends the values in a place. A value without type and shape stays untyped, and an unknown
// shape is left out.
func (w *writer) field(b []byte, num protowire.Number, path string, place any) (_ []byte, err error) {
	switch p := place.(type) {
	case *string:
		return protobuf.PutText(b, num, *p), nil
	case *int64:
		return protobuf.PutVarint(b, num, *p), nil
	case *[]string:
		return putAll(b, num, *p), nil
	case *[]schema.Node:
		for i := range *p {
			inner := ""
			from := w.nodeFields(&(*p)[i])
			if w.report != nil {
				inner = fmt.Sprintf("%snodes[%d].", path, i)
			}
			if b, err = w.nested(b, num, inner, &from); err != nil {
				return nil, fmt.Errorf("nodes[%d]: %w", i, err)
			}
		}
	case *[]schema.Attribute:
		for i := range *p {
			a := &(*p)[i]
			start := 0
			b, start = protobuf.Begin(b, num)
			if b, err = w.attribute(b, path+a.Name, a); err != nil {
				return nil, fmt.Errorf("attribute %q: %w", a.Name, err)
			}
			b = protobuf.End(b, start)
		}
	case *[]schema.ValueInfo:
		for i := range *p {
			v := &(*p)[i]
			switch {
			case v.DType != tensor.Invalid && w.Code(v.DType) == 0:
				w.converts(path+v.Name, fmt.Sprintf("the format has no %v", v.DType))
			case v.DType == tensor.Invalid && v.Code != "":
				w.converts(path+v.Name, "the dtype code "+v.Code+" means nothing here")
			}
			from := valueFields(v)
			if v.DType == tensor.Invalid && v.Dims == nil {
				from[valueOf] = nil
			}
			b = w.compare(b, v.DType, v.Code)
			b, _ = w.nested(b, num, path, &from)
		}
	case *protobuf.Into:
		return w.nested(b, num, path, p)
	case *elemType:
		return protobuf.PutInt(b, num, int64(w.Code(p.DType))), nil
	case *shape:
		if *p != nil {
			return w.nested(b, num, path, &protobuf.Into{shapeDim: (*[]schema.Dim)(p)})
		}
	case *[]schema.Dim:
		for _, d := range *p {
			from := protobuf.Into{}
			if d.Symbol != "" {
				from[dimParam] = &d.Symbol
			} else if d.Size != schema.DynamicDim {
				from[dimValue] = &d.Size
			}
			b, _ = w.nested(b, num, path, &from)
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

// attribute appends the fields of an attribute: its name, its value in the field for the type, and
// the type.
func (w *writer) attribute(b []byte, path string, a *schema.Attribute) (_ []byte, err error) {
	b = protobuf.PutText(b, attributeName, a.Name)
	value, err := w.convert(path, a.Value)
	if err != nil {
		return nil, err
	}
	typ := int32(Undefined)
	zero := false
	before := len(b)
	switch v := value.(type) {
	case nil:
		if w.Explicit && w.report != nil {
			err = fmt.Errorf("%w: an attribute without a value", tensor.ErrUnsupported)
		}
	case int64:
		typ = Int
		zero = v == 0
		b = protobuf.PutVarint(b, fieldOf(Int), v)
	case float32: // -0 and NaN are not zero
		typ = Float
		zero = math.Float32bits(v) == 0
		b = protobuf.PutFloat(b, fieldOf(Float), v)
	case string:
		typ = String
		zero = v == ""
		b = protobuf.PutBytes(b, fieldOf(String), v)
	case []int64:
		typ = Ints
		b = protobuf.PutInts(b, fieldOf(Ints), v)
	case []int32:
		typ = Ints
		b = protobuf.PutInts(b, fieldOf(Ints), v)
	case []float32:
		typ = Floats
		b = protobuf.PutFloats(b, fieldOf(Floats), v)
	case []string:
		typ = Strings
		b = putAll(b, fieldOf(Strings), v)
	case tensor.View:
		typ = Tensor
		b, err = w.tensor(b, fieldOf(typ), v)
	case []tensor.View:
		typ = Tensors
		for i := 0; i < len(v) && err == nil; i++ {
			b, err = w.tensor(b, fieldOf(typ), v[i])
		}
	case *schema.Graph:
		typ = Graph
		b, err = w.subgraph(b, fieldOf(typ), path, v)
	case []*schema.Graph:
		typ = Graphs
		for i := 0; i < len(v) && err == nil; i++ {
			b, err = w.subgraph(b, fieldOf(typ), fmt.Sprintf("%s[%d]", path, i), v[i])
		}
	default:
		err = fmt.Errorf("%w: a value of type %s", tensor.ErrUnsupported, schema.TypeName(value))
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
		if w.report != nil && !reported && strconv.FormatFloat(x, 'g', -1, 64) != strconv.FormatFloat(float64(f), 'g', -1, 32) {
			w.report(path, fmt.Sprintf("the format has no float64, %v is rounded to %v", x, f))
			reported = true
		}
	}
	return out, nil
}

// subgraph appends a graph attribute.
func (w *writer) subgraph(b []byte, num protowire.Number, path string, g *schema.Graph) ([]byte, error) {
	g = cmp.Or(g, &schema.Graph{})
	if len(g.Initializers) > 0 && !w.compared {
		return nil, fmt.Errorf("%w: initializers of a subgraph, which only a copy within the format keeps", tensor.ErrUnsupported)
	}
	b = w.compare(b, len(g.Initializers), g.Initializers)
	from := w.graphFields(g)
	return w.nested(b, num, path+".", &from)
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
