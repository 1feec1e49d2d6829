package wia

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
)

// decoded returns the message of the graph block, nil when that is empty.
func (f *parsed) decoded() (*Graph, error) {
	if f.graph.Size == 0 {
		return nil, nil
	}
	f.graphOnce.Do(func() {
		g := &Graph{}
		if err := f.graph.Merge(graphMsg, g, protobuf.Field{End: f.graph.Size}); err != nil {
			f.graphErr = f.graph.locate("graph", err)
			return
		}
		f.message = g
	})
	return f.message, f.graphErr
}

// Graph implements driver.GraphFile.
func (f *parsed) Graph() (*driver.Graph, error) {
	m, err := f.decoded()
	if m == nil || err != nil {
		return nil, err
	}
	return f.neutral(m), nil
}

// neutral translates a graph.
func (f *parsed) neutral(m *Graph) *driver.Graph {
	g := &driver.Graph{
		Name:         m.Name,
		Inputs:       neutralValues(m.Inputs),
		Outputs:      neutralValues(m.Outputs),
		Initializers: make([]string, len(m.Initializers)),
	}
	for i := range m.Initializers {
		g.Initializers[i] = m.Initializers[i].Name
	}
	if len(m.Nodes) > 0 {
		g.Nodes = make([]driver.Node, len(m.Nodes))
	}
	for i := range m.Nodes {
		n := &m.Nodes[i]
		g.Nodes[i] = driver.Node{Name: n.Name, Op: n.OpType, Domain: n.Domain, Inputs: n.Inputs, Outputs: n.Outputs}
		for j := range n.Attributes {
			a := &n.Attributes[j]
			g.Nodes[i].Attributes = append(g.Nodes[i].Attributes, driver.Attribute{Name: a.Name, Value: f.value(a)})
		}
	}
	return g
}

// neutralValues translates value infos.
func neutralValues(list []ValueInfo) []driver.ValueInfo {
	var out []driver.ValueInfo
	for _, v := range list {
		info := driver.ValueInfo{Name: v.Name}
		if v.Type != nil && v.Type.Tensor != nil {
			info.DType = dtypeOf(v.Type.Tensor.ElemType)
			info.Dims = neutralDims(v.Type.Tensor.Shape)
		}
		out = append(out, info)
	}
	return out
}

// neutralDims translates a shape: nil when it is not known, empty for a scalar.
func neutralDims(s *Shape) []driver.Dim {
	if s == nil {
		return nil
	}
	dims := make([]driver.Dim, len(s.Dims))
	for i, d := range s.Dims {
		dims[i].Size = driver.DynamicDim
		if d.Value != nil {
			dims[i].Size = *d.Value
		}
		if d.Param != nil {
			dims[i].Symbol = *d.Param
		}
	}
	return dims
}

// value returns an attribute's value as the neutral form has it.
func (f *parsed) value(a *Attribute) any {
	t := a.Type
	if t == AttributeUndefined {
		t = a.seen
	}
	switch t {
	case AttributeFloat:
		return a.F
	case AttributeInt:
		return a.I
	case AttributeString:
		return string(a.S)
	case AttributeTensor:
		if a.T != nil {
			return f.attributeView(a.T)
		}
	case AttributeGraph:
		if a.G != nil {
			return f.neutral(a.G)
		}
	case AttributeFloats:
		return append([]float32{}, a.Floats...)
	case AttributeInts:
		return append([]int64{}, a.Ints...)
	}
	return f.listValue(t, a)
}

// listValue is value for lists of what has no copy of its own.
func (f *parsed) listValue(t AttributeType, a *Attribute) any {
	switch t {
	case AttributeStrings:
		list := make([]string, len(a.Strings))
		for i, s := range a.Strings {
			list[i] = string(s)
		}
		return list
	case AttributeTensors:
		list := make([]tensor.View, len(a.Tensors))
		for i := range a.Tensors {
			list[i] = f.attributeView(&a.Tensors[i])
		}
		return list
	case AttributeGraphs:
		list := make([]*driver.Graph, len(a.Graphs))
		for i := range a.Graphs {
			list[i] = f.neutral(&a.Graphs[i])
		}
		return list
	}
	return nil
}

// attributeView makes the view of a tensor inside an attribute: of the private copy
// of the graph, or of an external file.
func (f *parsed) attributeView(t *Tensor) tensor.View {
	info := tensor.Info{Name: t.Name, DType: dtypeOf(t.DType), Shape: append(tensor.Shape{}, t.Dims...), Quant: t.Metadata.quantization()}
	if e := t.External; e != nil {
		info.Offset, info.Size, info.Stored = e.Offset, e.Length, e.Length
		dir, _ := f.src.Dir()
		return dir.View(f.spaces[e.Location], &info)
	}
	v, _ := tensor.FromInfo(info, t.RawData) // which was checked on open
	return v
}

// quantization returns the parameters in the common form, nil for none.
func (m *TensorMetadata) quantization() *tensor.Quantization {
	if m == nil || m.Quantization == nil || m.Quantization.Type == quantNone {
		return nil
	}
	p := m.Quantization
	q := quantHead{present: true, kind: p.Type, scale: p.Scale, zero: p.ZeroPoint}
	out := &tensor.Quantization{Scales: []float32{p.Scale}, ZeroPoints: []int32{p.ZeroPoint}}
	if c := p.PerChannel; c != nil {
		q.perChannel, q.scales, q.zeros, q.channel = true, c.Scales, c.ZeroPoints, c.ChannelDim
		out.Scales, out.ZeroPoints = c.Scales, c.ZeroPoints
	}
	q.quantization(out)
	return out
}
