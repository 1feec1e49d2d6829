package wia

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/attributes"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
)

// maxAttributeTensor bounds the data of a tensor inside the graph block:
// larger ones belong in the tensor block or in external files.
const maxAttributeTensor = 1<<31 - 1

// graphOf makes the message of a neutral graph. Initializers that it does not
// list (nil) are all tensors of the plan: formats without such lists leave it at
// that, and ONNX-minded readers expect every weight to be declared.
func graphOf(g *format.Graph, tensors []tensor.Info) (*Graph, error) {
	m, err := graphMessage(g)
	if err != nil {
		return nil, err
	}
	names := g.Initializers
	if names == nil {
		for i := range tensors {
			names = append(names, tensors[i].Name)
		}
	}
	m.Initializers, err = declare(names, tensors)
	return m, err
}

// declare makes the initializers of those names.
func declare(names []string, tensors []tensor.Info) ([]Tensor, error) {
	byName := make(map[string]*tensor.Info, len(tensors))
	for i := range tensors {
		byName[tensors[i].Name] = &tensors[i]
	}
	var out []Tensor
	for _, name := range names {
		info := byName[name]
		if info == nil {
			return nil, fmt.Errorf("%w: initializer %q is no tensor of the plan", tensor.ErrCorrupt, name)
		}
		out = append(out, Tensor{Name: name, Dims: info.Shape, DType: codeOf(info.DType)})
	}
	return out, nil
}

// checkMessage refuses an encoded graph that the reader would refuse, by its own
// rules: wire format, names that repeat, initializers that do not match the
// plan's tensors, data of the wrong size.
func checkMessage(b []byte, tensors []tensor.Info) error {
	f := &parsed{index: &driver.Index{}, graph: payload{Source: *protobuf.InMemory(b), block: graphBlock}}
	if err := f.checkWire(&protobuf.Tally{}, len(tensors)); err != nil {
		return err
	}
	for i := range tensors {
		t := &tensors[i]
		f.index.Add(&driver.Tensor{Name: []byte(t.Name), DType: t.DType, Shape: t.Shape, Offset: -1, Size: t.Size, Loaded: true})
	}
	if f.graph.Carriers {
		return fmt.Errorf("%w: initializers of the graph carry data: they belong in the plan", tensor.ErrCorrupt)
	}
	return f.checkGraph()
}

// graphMessage translates all but the initializers.
func graphMessage(g *format.Graph) (*Graph, error) {
	m := &Graph{Name: g.Name}
	var err error
	if m.Inputs, err = valueMessages(g.Inputs); err != nil {
		return nil, err
	}
	if m.Outputs, err = valueMessages(g.Outputs); err != nil {
		return nil, err
	}
	m.Nodes = make([]Node, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		m.Nodes[i] = Node{Name: n.Name, OpType: n.Op, Domain: n.Domain, Inputs: n.Inputs, Outputs: n.Outputs, Attributes: make([]Attribute, len(n.Attributes))}
		for j := range n.Attributes {
			a := &m.Nodes[i].Attributes[j]
			a.Name = n.Attributes[j].Name
			if err := a.set(n.Attributes[j].Value); err != nil {
				return nil, fmt.Errorf("nodes[%d]: attribute %q: %w", i, a.Name, err)
			}
		}
	}
	return m, nil
}

// valueMessages translates value infos; those that say nothing stay untyped.
func valueMessages(list []format.ValueInfo) ([]ValueInfo, error) {
	out := make([]ValueInfo, len(list))
	for i, v := range list {
		out[i].Name = v.Name
		if v.DType == tensor.Invalid && v.Dims == nil {
			continue
		}
		t := &TensorType{ElemType: codeOf(v.DType)}
		if v.Dims != nil {
			t.Shape = &Shape{Dims: make([]Dimension, len(v.Dims))}
		}
		for j, d := range v.Dims {
			switch dim := &t.Shape.Dims[j]; {
			case d.Symbol != "":
				dim.Param = &d.Symbol
			case d.Size != format.DynamicDim:
				dim.Value = &d.Size
			}
		}
		out[i].Type = &Type{Tensor: t}
	}
	return out, nil
}

// set gives an attribute a value of any type that format.Attribute has. The
// format has no double, so float64 is rounded to float32; bools become the
// integers 0 and 1 as in ONNX, JSON its text.
func (a *Attribute) set(value any) (err error) {
	switch v := value.(type) {
	case nil:
	case int64:
		a.Type, a.I = AttributeInt, v
	case bool:
		if a.Type = AttributeInt; v {
			a.I = 1
		}
	case float32:
		a.Type, a.F = AttributeFloat, v
	case float64:
		a.Type = AttributeFloat
		a.F, err = attributes.Single(v)
	case string:
		a.Type, a.S = AttributeString, []byte(v)
	case json.RawMessage:
		a.Type, a.S = AttributeString, v
	case tensor.View:
		a.Type, a.T = AttributeTensor, &Tensor{}
		err = a.T.set(v)
	case *format.Graph:
		a.Type = AttributeGraph
		a.G, err = subgraph(v)
	default:
		return a.setList(value)
	}
	return err
}

// setList is set for lists.
func (a *Attribute) setList(value any) (err error) {
	switch v := value.(type) {
	case []int64:
		a.Type, a.Ints = AttributeInts, v
	case []int32:
		a.Type = AttributeInts
		for _, x := range v {
			a.Ints = append(a.Ints, int64(x))
		}
	case []float32:
		a.Type, a.Floats = AttributeFloats, v
	case []float64:
		a.Type, a.Floats = AttributeFloats, make([]float32, len(v))
		for i := 0; i < len(v) && err == nil; i++ {
			a.Floats[i], err = attributes.Single(v[i])
		}
	case []string:
		a.Type = AttributeStrings
		for _, s := range v {
			a.Strings = append(a.Strings, []byte(s))
		}
	case []tensor.View:
		a.Type, a.Tensors = AttributeTensors, make([]Tensor, len(v))
		for i := 0; i < len(v) && err == nil; i++ {
			err = a.Tensors[i].set(v[i])
		}
	case []*format.Graph:
		a.Type, a.Graphs = AttributeGraphs, make([]Graph, len(v))
		for i := 0; i < len(v) && err == nil; i++ {
			var g *Graph
			if g, err = subgraph(v[i]); err == nil {
				a.Graphs[i] = *g
			}
		}
	default:
		return fmt.Errorf("%w: a value of type %s", format.ErrUnsupported, driver.TypeName(value))
	}
	return err
}

// errSubgraph is why a graph cannot be an attribute: its initializers could only
// name tensors of the file, which are declared at the top.
var errSubgraph = fmt.Errorf("%w: initializers of a subgraph, which a copy within WIA keeps", format.ErrUnsupported)

// subgraph translates the graph of an attribute.
func subgraph(g *format.Graph) (*Graph, error) {
	if g == nil {
		return &Graph{}, nil
	}
	return graphMessage(g)
}

// set copies a tensor into the message.
func (t *Tensor) set(v tensor.View) error {
	info := v.Info()
	code := codeOf(info.DType)
	if code == 0 {
		return fmt.Errorf("%w: the format has no %v", format.ErrUnsupported, info.DType)
	}
	if info.Size > maxAttributeTensor {
		return fmt.Errorf("%w: a tensor of %d bytes inside a graph", format.ErrLimit, info.Size)
	}
	c, err := v.Clone()
	if err != nil {
		return err
	}
	*t = Tensor{Name: info.Name, Dims: info.Shape, DType: code, HasData: true}
	if t.RawData, err = c.Bytes(); err != nil {
		return err
	}
	quant, err := quantMessage(&info)
	if quant != nil {
		t.Metadata = &TensorMetadata{Quantization: quant}
	}
	return err
}

// quantMessage returns the message of a plan's quantization, nil for none. What
// is unsound for the shape is refused.
func quantMessage(info *tensor.Info) (*QuantizationParams, error) {
	q := info.Quant
	if q == nil {
		return nil, nil
	}
	bad := func(text string, args ...any) (*QuantizationParams, error) {
		return nil, fmt.Errorf("%w: %s", tensor.ErrQuantization, fmt.Sprintf(text, args...))
	}
	m := &QuantizationParams{Type: quantLinear, QuantizedType: codeOf(info.DType)}
	switch q.Scheme {
	case tensor.Linear:
	case tensor.Logarithmic:
		m.Type = quantLogarithmic
	default:
		return bad("scheme %d", q.Scheme)
	}
	channels := int64(1)
	if q.Axis != tensor.PerTensor {
		if q.Axis < 0 || q.Axis >= len(info.Shape) {
			return bad("axis %d of %v", q.Axis, info.Shape)
		}
		channels = info.Shape[q.Axis]
	}
	zeros := q.ZeroPoints
	if int64(len(q.Scales)) != channels || len(zeros) > 1 && len(zeros) != len(q.Scales) {
		return bad("%d scales and %d zero points for %d channels", len(q.Scales), len(zeros), channels)
	}
	if q.Axis == tensor.PerTensor {
		if m.Scale = q.Scales[0]; len(zeros) > 0 {
			m.ZeroPoint = zeros[0]
		}
		return m, nil
	}
	if len(zeros) == 1 {
		zeros = slices.Repeat(zeros, len(q.Scales))
	}
	m.PerChannel = &PerChannelQuantization{Scales: q.Scales, ZeroPoints: zeros, ChannelDim: int32(q.Axis)}
	return m, nil
}
