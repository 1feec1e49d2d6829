package onnx

import (
	"encoding/json"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/attributes"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxAttributeTensor bounds the data of a tensor inside the graph.
const maxAttributeTensor = 1 << 30

// graphMessage translates a graph. Its initializers are the tensors of the plan.
func graphMessage(g *driver.Graph) (*graph, error) {
	m := &graph{name: g.Name, inputs: valueMessages(g.Inputs), outputs: valueMessages(g.Outputs), nodes: make([]node, len(g.Nodes))}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		m.nodes[i] = node{name: n.Name, op: n.Op, domain: n.Domain, inputs: n.Inputs, outputs: n.Outputs, attributes: make([]attribute, len(n.Attributes))}
		for j := range n.Attributes {
			a := &m.nodes[i].attributes[j]
			a.name = n.Attributes[j].Name
			if err := a.set(n.Attributes[j].Value); err != nil {
				return nil, fmt.Errorf("nodes[%d]: attribute %q: %w", i, a.name, err)
			}
		}
	}
	return m, nil
}

// valueMessages translates value infos; those that say nothing stay untyped.
func valueMessages(list []driver.ValueInfo) []valueInfo {
	out := make([]valueInfo, len(list))
	for i, v := range list {
		out[i].name = v.Name
		if v.DType == tensor.Invalid && v.Dims == nil {
			continue
		}
		t := &tensorType{elem: codeOf(v.DType)}
		if v.Dims != nil {
			t.shape = &shape{dims: make([]dimension, len(v.Dims))}
		}
		for j, d := range v.Dims {
			switch dim := &t.shape.dims[j]; {
			case d.Symbol != "":
				dim.param = &d.Symbol
			case d.Size != driver.DynamicDim:
				dim.value = &d.Size
			}
		}
		out[i].typ = &typeProto{tensor: t}
	}
	return out
}

// set gives an attribute a value of any type that driver.Attribute has. There is no
// double, so float64 is rounded to float32; bools become the integers 0 and 1, JSON
// its text.
func (a *attribute) set(value any) (err error) {
	switch v := value.(type) {
	case nil: // only the file itself has an attribute like that
	case int64:
		a.typ, a.i = onnxgraph.Int, &v
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		a.typ, a.i = onnxgraph.Int, &n
	case float32:
		a.typ, a.f = onnxgraph.Float, &v
	case float64:
		f := float32(0)
		f, err = attributes.Single(v)
		a.typ, a.f = onnxgraph.Float, &f
	case string:
		a.typ, a.s = onnxgraph.String, &v
	case json.RawMessage:
		s := string(v)
		a.typ, a.s = onnxgraph.String, &s
	case tensor.View:
		a.typ = onnxgraph.Tensor
		a.t, err = tensorMessage(v)
	case *driver.Graph:
		a.typ, a.g = onnxgraph.Graph, &graph{}
		if v != nil {
			a.g, err = graphMessage(v)
		}
	default:
		return a.setList(value)
	}
	return err
}

// setList is set for lists.
func (a *attribute) setList(value any) (err error) {
	switch v := value.(type) {
	case []int64:
		a.typ, a.ints = onnxgraph.Ints, v
	case []int32:
		a.typ = onnxgraph.Ints
		for _, x := range v {
			a.ints = append(a.ints, int64(x))
		}
	case []float32:
		a.typ, a.floats = onnxgraph.Floats, v
	case []float64:
		a.typ, a.floats = onnxgraph.Floats, make([]float32, len(v))
		for i := 0; i < len(v) && err == nil; i++ {
			a.floats[i], err = attributes.Single(v[i])
		}
	case []string:
		a.typ = onnxgraph.Strings
		for _, s := range v {
			a.strings = append(a.strings, []byte(s))
		}
	case []tensor.View:
		a.typ, a.tensors = onnxgraph.Tensors, make([]protobuf.Raw, len(v))
		for i := 0; i < len(v) && err == nil; i++ {
			a.tensors[i], err = tensorMessage(v[i])
		}
	case []*driver.Graph:
		a.typ, a.graphs = onnxgraph.Graphs, make([]graph, len(v))
		for i := 0; i < len(v) && err == nil; i++ {
			var g *graph
			if g, err = graphMessage(v[i]); err == nil {
				a.graphs[i] = *g
			}
		}
	default:
		return fmt.Errorf("%w: a value of type %s", format.ErrUnsupported, driver.TypeName(value))
	}
	return err
}

// checkTensor refuses what cannot be a tensor in an attribute.
func checkTensor(info tensor.Info) error {
	switch {
	case info.Encoding != nil && info.Encoding.Name == elemTypes[stringCode].name:
	case codeOfTensor(&info) == 0:
		return fmt.Errorf("%w: the format has no %s", format.ErrUnsupported, info.TypeName())
	case info.Quant != nil:
		return fmt.Errorf("%w: the format has no quantization parameters of tensors in attributes", format.ErrUnsupported)
	}
	if info.Size > maxAttributeTensor {
		return fmt.Errorf("%w: a tensor of %d bytes inside a graph", format.ErrLimit, info.Size)
	}
	return nil
}

// tensorMessage makes the message of a tensor in an attribute.
func tensorMessage(v tensor.View) (protobuf.Raw, error) {
	info := v.Info()
	kept := storageOf(&info)
	switch {
	case kept.code == 0:
		return nil, fmt.Errorf("%w: the format has no %s", format.ErrUnsupported, info.TypeName())
	case info.Size > maxAttributeTensor:
		return nil, fmt.Errorf("%w: a tensor of %d bytes inside a graph", format.ErrLimit, info.Size)
	}
	c, err := v.Clone()
	if err != nil {
		return nil, err
	}
	data, err := c.Bytes()
	if err != nil {
		return nil, err
	}
	b := appendDims(nil, info.Shape)
	b = protobuf.PutInt(b, 2, int64(kept.code))
	if kept.form == asFields {
		b = append(b, data...)
	}
	if info.Name != "" {
		b = protobuf.PutBytes(b, 8, []byte(info.Name))
	}
	if kept.form != asFields {
		b = protobuf.PutBytes(b, rawData, data)
	}
	return b, nil
}

// appendDims appends the dims of a tensor, as the reference does one by one.
func appendDims(b []byte, s tensor.Shape) []byte {
	for _, d := range s {
		b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), uint64(d))
	}
	return b
}

// checkFront refuses an encoded model without a graph that the reader would refuse.
func checkFront(b []byte) error {
	f := &parsed{index: &driver.Index{}, o: &driver.Options{MaxTensors: format.DefaultMaxTensors}}
	f.head.Source = *protobuf.InMemory(b)
	return f.readModel()
}

// checkGraph refuses an encoded graph that the reader would refuse.
func checkGraph(b []byte, tensors int) error {
	f := &parsed{index: &driver.Index{}, o: &driver.Options{MaxTensors: max(tensors, format.DefaultMaxTensors)}, files: map[string]externalFile{}}
	f.graph.Source = *protobuf.InMemory(b)
	return protobuf.InField("graph", f.readGraph())
}
