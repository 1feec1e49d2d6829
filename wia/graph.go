package wia

import (
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// decoded returns the message of the graph block, nil when that is empty.
func (f *parsed) decoded() (*Graph, error) {
	if f.graph.Size == 0 {
		return nil, nil
	}
	f.graphOnce.Do(func() {
		if _, f.graphErr = f.reserve(protobuf.AsMessage); f.graphErr != nil {
			return
		}
		g := &Graph{}
		if err := f.graph.Merge(graphMsg, g, protobuf.Field{End: f.graph.Size}); err != nil {
			f.graphErr = f.graph.locate("graph", err)
			return
		}
		f.message = g
	})
	return f.message, f.graphErr
}

// reserve counts what the graph takes in a form, before it is built.
func (f *parsed) reserve(form protobuf.Form) (n int64, err error) {
	n, err = f.graph.Cost(graphMsg, protobuf.Field{End: f.graph.Size}, form)
	if err == nil {
		err = f.memory.Build(n, f.hdr.blocks[graphBlock].size)
	}
	if err != nil {
		return 0, wire.Error(formatName, "graph", f.graph.at, err)
	}
	return n, nil
}

// Graph implements driver.GraphFile.
func (f *parsed) Graph() (*driver.Graph, error) {
	if f.graph.Size == 0 {
		return nil, nil
	}
	n, err := f.reserve(protobuf.AsNeutral)
	if err != nil {
		return nil, err
	}
	defer f.memory.Release(n)
	g, err := (&translator{f: f}).graph(protobuf.Field{End: f.graph.Size})
	return g, f.graph.locate("graph", err)
}

// translator makes the neutral graph, from the wire and one thing at a time: messages
// take more than what is made of them. Those that it needs it uses again.
type translator struct {
	f         *parsed
	node      Node
	attribute Attribute
	value     ValueInfo
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
	var counts [6]int
	err := each(func(fl protobuf.Field) error {
		if int(fl.Num) < len(counts) {
			counts[fl.Num]++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	g.Nodes = slices.Grow(g.Nodes, counts[2])
	g.Inputs, g.Outputs = slices.Grow(g.Inputs, counts[3]), slices.Grow(g.Outputs, counts[4])
	g.Initializers = make([]string, 0, counts[5])
	err = each(func(fl protobuf.Field) (err error) {
		switch fl.Num {
		case 1:
			err = s.Str(&g.Name, &fl)
		case 2:
			g.Nodes = append(g.Nodes, driver.Node{})
			err = t.toNode(&g.Nodes[len(g.Nodes)-1], fl)
		case 3:
			g.Inputs, err = t.appendValue(g.Inputs, fl)
		case 4:
			g.Outputs, err = t.appendValue(g.Outputs, fl)
		case 5:
			g.Initializers = append(g.Initializers, "")
			name := &g.Initializers[len(g.Initializers)-1]
			err = s.Each(tensorMsg, fl, func(part protobuf.Field) error {
				if part.Num == 1 {
					return s.Str(name, &part)
				}
				return nil
			})
		}
		return err
	})
	return g, err
}

// toNode translates a node.
func (t *translator) toNode(to *driver.Node, msg protobuf.Field) error {
	n := &t.node
	*n = Node{}
	if err := t.f.graph.Merge(nodeHead, n, msg); err != nil {
		return err
	}
	*to = driver.Node{Name: n.Name, Op: n.OpType, Domain: n.Domain, Inputs: n.Inputs, Outputs: n.Outputs}
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
	*a = Attribute{}
	err := t.f.graph.Merge(attributeHead, a, msg)
	out := driver.Attribute{Name: a.Name}
	if err != nil {
		return out, err
	}
	switch a.kind() {
	case AttributeGraph:
		if pieces := t.f.graph.Occurrences(attributeMsg, msg, 6); pieces != nil {
			out.Value, err = t.graph(pieces...)
		}
	case AttributeGraphs:
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

// kind returns the type that counts.
func (a *Attribute) kind() AttributeType {
	if a.Type == AttributeUndefined {
		return a.seen
	}
	return a.Type
}

// appendValue translates a value info.
func (t *translator) appendValue(list []driver.ValueInfo, msg protobuf.Field) ([]driver.ValueInfo, error) {
	v := &t.value
	*v = ValueInfo{}
	if err := t.f.graph.Merge(valueInfoMsg, v, msg); err != nil {
		return list, err
	}
	info := driver.ValueInfo{Name: v.Name}
	if v.Type != nil && v.Type.Tensor != nil {
		info.DType = dtypeOf(v.Type.Tensor.ElemType)
		info.Dims = neutralDims(v.Type.Tensor.Shape)
	}
	return append(list, info), nil
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

// value returns the value of an attribute without graphs as the neutral form has it.
func (f *parsed) value(a *Attribute) any {
	switch a.kind() {
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
	case AttributeFloats:
		return protobuf.OrEmpty(a.Floats)
	case AttributeInts:
		return protobuf.OrEmpty(a.Ints)
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
