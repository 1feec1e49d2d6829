package wia

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// GraphMessage returns the graph block as it is, with everything format.Graph
// has no place for: doc strings, properties, unknown fields. It is decoded at
// the first call, shared by all, and must not be changed; nil when the block is
// empty. Byte fields may alias the mapping and are valid until Close.
func (f *File) GraphMessage() (*Graph, error) {
	if err := f.Lend(); err != nil {
		return nil, err
	}
	return f.decoded()
}

// decoded is GraphMessage for what keeps no bytes of the mapping.
func (f *File) decoded() (*Graph, error) {
	if f.graph.size == 0 {
		return nil, f.within(func() error { return nil })
	}
	f.graphOnce.Do(func() {
		f.graphErr = f.within(func() error {
			g := &Graph{}
			if err := g.merge(f.graph.reader(), field{end: f.graph.size}); err != nil {
				return f.graph.locate("graph", err)
			}
			f.message = g
			return nil
		})
	})
	return f.message, f.graphErr
}

// Graph returns the graph in its neutral form, nil when the block is empty.
// Attribute values have the types their AttributeType says; an attribute
// without a value (a reference to one of an enclosing function) has nil.
// Initializers is never nil: it lists what the graph declares.
func (f *File) Graph() (*format.Graph, error) {
	m, err := f.decoded()
	if m == nil || err != nil {
		return nil, err
	}
	var g *format.Graph
	err = f.within(func() error {
		g = f.neutral(m)
		return nil
	})
	return g, err
}

// neutral translates a graph.
func (f *File) neutral(m *Graph) *format.Graph {
	g := &format.Graph{
		Name:         m.Name,
		Inputs:       neutralValues(m.Inputs),
		Outputs:      neutralValues(m.Outputs),
		Initializers: make([]string, len(m.Initializers)),
	}
	for i := range m.Initializers {
		g.Initializers[i] = m.Initializers[i].Name
	}
	if len(m.Nodes) > 0 {
		g.Nodes = make([]format.Node, len(m.Nodes))
	}
	for i := range m.Nodes {
		n := &m.Nodes[i]
		g.Nodes[i] = format.Node{Name: n.Name, Op: n.OpType, Domain: n.Domain, Inputs: n.Inputs, Outputs: n.Outputs}
		for j := range n.Attributes {
			a := &n.Attributes[j]
			g.Nodes[i].Attributes = append(g.Nodes[i].Attributes, format.Attribute{Name: a.Name, Value: f.value(a)})
		}
	}
	return g
}

// neutralValues translates value infos.
func neutralValues(list []ValueInfo) []format.ValueInfo {
	var out []format.ValueInfo
	for _, v := range list {
		info := format.ValueInfo{Name: v.Name}
		if v.Type != nil && v.Type.Tensor != nil {
			info.DType = dtypeOf(v.Type.Tensor.ElemType)
			info.Dims = neutralDims(v.Type.Tensor.Shape)
		}
		out = append(out, info)
	}
	return out
}

// neutralDims translates a shape: nil when it is not known, empty for a scalar.
func neutralDims(s *Shape) []format.Dim {
	if s == nil {
		return nil
	}
	dims := make([]format.Dim, len(s.Dims))
	for i, d := range s.Dims {
		dims[i].Size = format.DynamicDim
		if d.Value != nil {
			dims[i].Size = *d.Value
		}
		if d.Param != nil {
			dims[i].Symbol = *d.Param
		}
	}
	return dims
}

// value returns an attribute's value as format.Attribute has it.
func (f *File) value(a *Attribute) any {
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
func (f *File) listValue(t AttributeType, a *Attribute) any {
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
		list := make([]*format.Graph, len(a.Graphs))
		for i := range a.Graphs {
			list[i] = f.neutral(&a.Graphs[i])
		}
		return list
	}
	return nil
}

// attributeView makes the view of a tensor inside an attribute.
func (f *File) attributeView(t *Tensor) tensor.View {
	info := &tensor.Info{Name: t.Name, DType: dtypeOf(t.DType), Shape: append(tensor.Shape{}, t.Dims...), Offset: -1}
	info.Size, _ = info.Shape.ByteSize(info.DType)
	info.Stored = info.Size
	info.Quant = t.Metadata.quantization()
	if t.External == nil {
		return tensor.NewView(info, f.region, t.RawData[:len(t.RawData):len(t.RawData)])
	}
	info.Offset = t.External.Offset
	r, data, err := f.ext.data(t.External.head())
	if err != nil {
		return tensor.NewView(info, unusable{f.Catalog, err}, nil)
	}
	return tensor.NewView(info, r, data)
}

// head returns the form that the reader uses.
func (e *ExternalData) head() *externalHead {
	return &externalHead{location: []byte(e.Location), checksum: []byte(e.Checksum), offset: e.Offset, length: e.Length}
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
