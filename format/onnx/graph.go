package onnx

import (
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Graph implements driver.GraphFile. A graph that says nothing but what tensors there
// are is none. What it takes is computed before it is built.
func (f *parsed) Graph() (*driver.Graph, error) {
	all := protobuf.Field{End: f.graph.Size}
	n, err := f.graph.Cost(graphMsg, all, protobuf.AsNeutral)
	if err == nil {
		n += 16 * int64(f.index.Len())
		err = f.o.Memory.Build(n, f.graph.Size+16*int64(f.index.Len()))
	}
	if err != nil {
		return nil, wire.Error(formatName, "graph", f.graph.fileAt(0), err)
	}
	defer f.o.Memory.Release(n)
	g, err := (&translator{f: f}).graph(all)
	if err != nil || len(g.Nodes)+len(g.Inputs)+len(g.Outputs) == 0 {
		return nil, err
	}
	g.Initializers = make([]string, f.index.Len())
	for i := range g.Initializers {
		g.Initializers[i] = f.index.Name(i)
	}
	return g, nil
}

// translator makes the neutral graph, from the wire and one thing at a time: messages
// take more than what is made of them. Those that it needs it uses again.
type translator struct {
	f         *parsed
	node      node
	attribute attribute
	value     valueInfo
}

// graph translates a graph, which is in several pieces when the field that holds it
// occurs more than once.
func (t *translator) graph(pieces ...protobuf.Field) (*driver.Graph, error) {
	s := &t.f.graph.Source
	g := &driver.Graph{}
	each := func(do func(fl protobuf.Field) error) error {
		for _, piece := range pieces {
			if err := s.Each(graphMsg, piece, do); err != nil {
				return err
			}
		}
		return nil
	}
	var counts [13]int
	err := each(func(fl protobuf.Field) error {
		if int(fl.Num) < len(counts) {
			counts[fl.Num]++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	g.Nodes = slices.Grow(g.Nodes, counts[1])
	g.Inputs, g.Outputs = slices.Grow(g.Inputs, counts[11]), slices.Grow(g.Outputs, counts[12])
	err = each(func(fl protobuf.Field) (err error) {
		switch fl.Num {
		case 1:
			g.Nodes = append(g.Nodes, driver.Node{})
			err = t.toNode(&g.Nodes[len(g.Nodes)-1], fl)
		case 2:
			err = s.Str(&g.Name, &fl)
		case 5:
			g.Initializers = append(g.Initializers, "")
			name := &g.Initializers[len(g.Initializers)-1]
			err = s.Each(tensorMsg, fl, func(part protobuf.Field) error {
				if part.Num == 8 {
					return s.Str(name, &part)
				}
				return nil
			})
		case 11:
			g.Inputs, err = t.appendValue(g.Inputs, fl)
		case 12:
			g.Outputs, err = t.appendValue(g.Outputs, fl)
		}
		return err
	})
	return g, err
}

// toNode translates a node.
func (t *translator) toNode(to *driver.Node, msg protobuf.Field) error {
	n := &t.node
	*n = node{}
	if err := t.f.graph.Merge(nodeHead, n, msg); err != nil {
		return err
	}
	*to = driver.Node{Name: n.name, Op: n.op, Domain: n.domain, Inputs: n.inputs, Outputs: n.outputs}
	attributes := t.f.graph.Occurrences(nodeMsg, msg, 5)
	to.Attributes = slices.Grow(to.Attributes, len(attributes))
	for _, fl := range attributes {
		a, err := t.toAttribute(fl)
		if err != nil {
			return err
		}
		to.Attributes = append(to.Attributes, a)
	}
	return nil
}

// toAttribute translates an attribute.
func (t *translator) toAttribute(msg protobuf.Field) (driver.Attribute, error) {
	a := &t.attribute
	*a = attribute{}
	err := t.f.graph.Merge(attributeHead, a, msg)
	out := driver.Attribute{Name: a.name}
	if err != nil {
		return out, err
	}
	switch a.kind() {
	case attrGraph:
		if pieces := t.f.graph.Occurrences(attributeMsg, msg, 6); pieces != nil {
			out.Value, err = t.graph(pieces...)
		}
	case attrGraphs:
		pieces := t.f.graph.Occurrences(attributeMsg, msg, 11)
		list := make([]*driver.Graph, len(pieces))
		for i := range pieces {
			if list[i], err = t.graph(pieces[i]); err != nil {
				break
			}
		}
		out.Value = list
	default:
		out.Value = t.f.value(a)
	}
	return out, err
}

// kind returns the type that counts. Old files do not say.
func (a *attribute) kind() int32 {
	if a.typ == 0 {
		return a.seen
	}
	return a.typ
}

// appendValue translates a value info.
func (t *translator) appendValue(list []driver.ValueInfo, msg protobuf.Field) ([]driver.ValueInfo, error) {
	v := &t.value
	*v = valueInfo{}
	if err := t.f.graph.Merge(valueInfoMsg, v, msg); err != nil {
		return list, err
	}
	info := driver.ValueInfo{Name: v.name}
	if v.typ != nil && v.typ.tensor != nil {
		typ := v.typ.tensor
		if info.DType = dtypeOf(typ.elem); info.DType == tensor.Invalid && typ.elem != 0 {
			info.Code = strconv.Itoa(int(typ.elem))
		}
		info.Dims = neutralDims(typ.shape)
	}
	return append(list, info), nil
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

// value returns the value of an attribute without graphs as the neutral form has it,
// nil for types, sparse tensors and what only functions have.
func (f *parsed) value(a *attribute) any {
	switch a.kind() {
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
	case attrFloats:
		return protobuf.OrEmpty(a.floats)
	case attrInts:
		return protobuf.OrEmpty(a.ints)
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
