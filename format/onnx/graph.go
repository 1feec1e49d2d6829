package onnx

import (
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
)

// decoded returns the message of the graph.
func (f *parsed) decoded() (*graph, error) {
	f.graphOnce.Do(func() {
		g := &graph{}
		if f.graphErr = f.graph.Merge(graphMsg, g, protobuf.Field{End: f.graph.Size}); f.graphErr == nil {
			f.message = g
		}
	})
	return f.message, f.graphErr
}

// Graph implements driver.GraphFile. A graph that says nothing but what tensors there
// are is none.
func (f *parsed) Graph() (*driver.Graph, error) {
	m, err := f.decoded()
	if err != nil || len(m.nodes)+len(m.inputs)+len(m.outputs) == 0 {
		return nil, err
	}
	g := f.neutral(m)
	g.Initializers = make([]string, f.index.Len())
	for i := range g.Initializers {
		g.Initializers[i] = f.index.Name(i)
	}
	return g, nil
}

// neutral translates a graph, with the names of the initializers that it has itself.
func (f *parsed) neutral(m *graph) *driver.Graph {
	g := &driver.Graph{Name: m.name, Inputs: neutralValues(m.inputs), Outputs: neutralValues(m.outputs)}
	for _, raw := range m.initializers {
		if h, _, err := headOf(raw); err == nil {
			g.Initializers = append(g.Initializers, string(h.name))
		}
	}
	if len(m.nodes) > 0 {
		g.Nodes = make([]driver.Node, len(m.nodes))
	}
	for i := range m.nodes {
		n := &m.nodes[i]
		g.Nodes[i] = driver.Node{Name: n.name, Op: n.op, Domain: n.domain, Inputs: n.inputs, Outputs: n.outputs}
		for j := range n.attributes {
			a := &n.attributes[j]
			g.Nodes[i].Attributes = append(g.Nodes[i].Attributes, driver.Attribute{Name: a.name, Value: f.value(a)})
		}
	}
	return g
}

// neutralValues translates value infos.
func neutralValues(list []valueInfo) []driver.ValueInfo {
	var out []driver.ValueInfo
	for _, v := range list {
		info := driver.ValueInfo{Name: v.name}
		if v.typ != nil && v.typ.tensor != nil {
			t := v.typ.tensor
			if info.DType = dtypeOf(t.elem); info.DType == tensor.Invalid && t.elem != 0 {
				info.Code = strconv.Itoa(int(t.elem))
			}
			info.Dims = neutralDims(t.shape)
		}
		out = append(out, info)
	}
	return out
}

// neutralDims translates a shape: nil when it is not known, empty for a scalar.
func neutralDims(s *shape) []driver.Dim {
	if s == nil {
		return nil
	}
	dims := make([]driver.Dim, len(s.dims))
	for i, d := range s.dims {
		dims[i].Size = driver.DynamicDim
		if d.value != nil {
			dims[i].Size = *d.value
		}
		if d.param != nil {
			dims[i].Symbol = *d.param
		}
	}
	return dims
}

// value returns an attribute's value as the neutral form has it, nil for types,
// sparse tensors and what only functions have.
func (f *parsed) value(a *attribute) any {
	t := a.typ
	if t == 0 {
		t = a.seen // old files do not say
	}
	switch t {
	case attrFloat:
		return orZero(a.f)
	case attrInt:
		return orZero(a.i)
	case attrString:
		return orZero(a.s)
	case attrTensor:
		if a.t != nil {
			return f.attributeView(a.t)
		}
	case attrGraph:
		if a.g != nil {
			return f.neutral(a.g)
		}
	case attrFloats:
		return append([]float32{}, a.floats...)
	case attrInts:
		return append([]int64{}, a.ints...)
	case attrStrings:
		list := make([]string, len(a.strings))
		for i, s := range a.strings {
			list[i] = string(s)
		}
		return list
	case attrTensors:
		list := make([]tensor.View, len(a.tensors))
		for i := range a.tensors {
			list[i] = f.attributeView(a.tensors[i])
		}
		return list
	case attrGraphs:
		list := make([]*driver.Graph, len(a.graphs))
		for i := range a.graphs {
			list[i] = f.neutral(&a.graphs[i])
		}
		return list
	}
	return nil
}

// headOf reads the message of a tensor.
func headOf(raw protobuf.Raw) (*head, *protobuf.Source, error) {
	h, s := &head{}, protobuf.InMemory(raw)
	h.reset()
	err := h.read(s, 0, s.Size, 3)
	if err == nil {
		err = h.check(0)
	}
	return h, s, err
}

// attributeView makes the view of a tensor inside an attribute: of the private copy of
// the graph, or of an external file. It was checked on open.
func (f *parsed) attributeView(raw protobuf.Raw) tensor.View {
	h, s, err := headOf(raw)
	if err != nil {
		return tensor.View{}
	}
	info := tensor.Info{Name: string(h.name), DType: dtypeOf(h.code), Shape: append(tensor.Shape{}, h.dims...), Encoding: h.encoding(map[int32]*tensor.Encoding{})}
	if h.location == 1 {
		x := f.files[string(h.ext.location)]
		if h.ext.length < 0 && x.size >= h.ext.offset {
			h.size = x.size - h.ext.offset
		}
		info.Offset, info.Size, info.Stored = h.ext.offset, h.size, h.size
		dir, _ := f.src.Dir()
		return dir.View(x.space, &info)
	}
	data, err := h.bytes(s)
	if err != nil {
		return tensor.View{}
	}
	v, _ := tensor.FromInfo(info, data)
	return v
}

// orZero returns the value of a field that may be absent.
func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
