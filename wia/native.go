package wia

import (
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// native is what Native.Raw holds: the messages of a file without the data of its tensors.
type native struct {
	graph   *Graph
	tensors []Tensor    // those of which the file says more than a plan
	blocks  blockFields // unknown fields of the tensor block
	signing blockFields // and of the signature block
}

type blockFields struct{ unknown []byte }

var (
	blockFieldsMsg = &protobuf.Message{Name: "BlockFields", Unknown: protobuf.Unknown(func(m *blockFields) *[]byte { return &m.unknown })}
	nativeMsg      = &protobuf.Message{Name: "Native", Unknown: protobuf.Unknown(func(*native) *[]byte { return new([]byte) }), Fields: []protobuf.FieldDef{
		1: protobuf.OneMessage("graph", graphMsg, func(m *native) **Graph { return &m.graph }),
		2: protobuf.ManyMessages("tensors", tensorMsg, func(m *native) *[]Tensor { return &m.tensors }),
		3: protobuf.BareMessage("tensor_block", blockFieldsMsg, false),
		4: protobuf.BareMessage("signature_block", blockFieldsMsg, false),
	}}
)

// neutral are the fields that become metadata, tensors or graph.
var neutral = onnxgraph.Neutral{
	nativeMsg: onnxgraph.Bits(1, 2, 3, 4),
	graphMsg:  onnxgraph.Bits(1, 2, 3, 4, 5, 6), nodeMsg: onnxgraph.Bits(1, 2, 3, 4, 5, 7),
	attributeMsg: onnxgraph.Bits(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20),
	tensorMsg:    onnxgraph.Bits(1, 2, 3, rawArm, externalArm, 6), tensorMetaMsg: onnxgraph.Bits(3), externalMsg: onnxgraph.Bits(1, 2, 3, 4),
	quantMsg: onnxgraph.Bits(1, 2, 3, 4, 5), perChannelMsg: onnxgraph.Bits(1, 2, 3),
	valueInfoMsg: onnxgraph.Bits(1, 2), typeMsg: onnxgraph.Bits(1), tensorTypeMsg: onnxgraph.Bits(1, 2), shapeMsg: onnxgraph.Bits(1), dimensionMsg: onnxgraph.Bits(1, 2),
}

// Native implements driver.Parsed. What is around a compressed tensor is storage, which is
// chosen anew.
func (f *parsed) Native() (*driver.Native, error) {
	n, err := f.reserve(protobuf.AsMessage)
	if err != nil {
		return nil, err
	}
	defer f.memory.Release(n)
	var x native
	if x.graph, err = f.ownGraph(); err != nil {
		return nil, err
	}
	if x.blocks.unknown, err = f.tail(); err != nil {
		return nil, err
	}
	if f.signature != nil {
		x.signing.unknown = f.signature.unknown
	}
	for i := range f.records {
		var it item
		if err := f.describe(i, &it); err != nil {
			return nil, err
		}
		it.message.External = nil
		list, err := graphSchema.Kinds(neutral, tensorMsg, tensorMsg.Append(nil, &it.message), 1)
		if err != nil {
			return nil, wire.Error(formatName, fmt.Sprintf("tensor %q", it.message.Name), -1, err)
		}
		// Quantization that means nothing is kept as it is, too.
		_, unsound := quantMessage(&tensor.Info{DType: dtypeOf(it.message.DType), Shape: it.message.Dims, Quant: it.message.Metadata.quantization()})
		if len(list) > 0 || unsound != nil {
			x.tensors = append(x.tensors, it.message)
		}
	}
	raw := nativeMsg.Append(nil, &x)
	raw = protobuf.PutMessage(raw, 3, blockFieldsMsg, &x.blocks)
	raw = protobuf.PutMessage(raw, 4, blockFieldsMsg, &x.signing)
	list, err := graphSchema.Kinds(neutral, nativeMsg, raw, 0)
	if err != nil {
		return nil, wire.Error(formatName, "graph", -1, err)
	}
	return &driver.Native{Format: formatName, Kinds: list, Raw: raw}, nil
}

// ownGraph decodes the graph block into new messages, nil when it is empty.
func (f *parsed) ownGraph() (*Graph, error) {
	if f.graph.Size == 0 {
		return nil, nil
	}
	g := &Graph{}
	if err := f.graph.Merge(graphMsg, g, protobuf.Field{End: f.graph.Size}); err != nil {
		return nil, f.graph.locate("graph", err)
	}
	g = g.shallow()
	return g, g.inline(f)
}

// carry makes what Rewrite carries over of a plan's Native, nil for a plan without. lost are the
// kinds that the plan does not agree with.
func carry(p *driver.Plan) (from *original, lost []driver.NativeKind, err error) {
	n := p.Native
	if n == nil || n.Format != formatName {
		return nil, nil, nil
	}
	var x native
	s := protobuf.InMemory(n.Raw)
	if err := s.Check(nativeMsg, 0, s.Size, 0); err != nil {
		return nil, nil, protobuf.InField("native", err)
	}
	whole := protobuf.Field{End: s.Size}
	if err := s.Merge(nativeMsg, &x, whole); err != nil {
		return nil, nil, err
	}
	from = &original{messages: map[string]*Tensor{}}
	if from.tail, err = s.Last(nativeMsg, whole, 3); err == nil {
		from.signature, err = s.Last(nativeMsg, whole, 4)
	}
	if err != nil {
		return nil, nil, err
	}
	names := map[string]string{}
	for name, old := range n.Renamed {
		names[old] = name
	}
	for i := range x.tensors {
		from.messages[renamed(names, x.tensors[i].Name)] = &x.tensors[i]
	}
	if x.graph == nil {
		return from, nil, nil
	}
	list, err := graphSchema.Kinds(neutral, graphMsg, graphMsg.Append(nil, x.graph), 1)
	if err != nil {
		return nil, nil, err
	}
	x.graph.rename(names)
	if from.graph = x.graph.following(p); from.graph == nil {
		return from, list, nil
	}
	return from, nil, nil
}

func renamed(names map[string]string, name string) string {
	if now, ok := names[name]; ok {
		return now
	}
	return name
}

// rename changes the names of values.
func (g *Graph) rename(names map[string]string) {
	if len(names) == 0 {
		return
	}
	for _, list := range [][]ValueInfo{g.Inputs, g.Outputs} {
		for i := range list {
			list[i].Name = renamed(names, list[i].Name)
		}
	}
	for i := range g.Initializers {
		g.Initializers[i].Name = renamed(names, g.Initializers[i].Name)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for _, list := range [][]string{n.Inputs, n.Outputs} {
			for k := range list {
				list[k] = renamed(names, list[k])
			}
		}
		for k := range n.Attributes {
			a := &n.Attributes[k]
			if a.G != nil {
				a.G.rename(names)
			}
			for j := range a.Graphs {
				a.Graphs[j].rename(names)
			}
		}
	}
}

// following returns the graph with the initializers of the plan, nil when the plan's graph
// is another.
func (g *Graph) following(p *driver.Plan) *Graph {
	tensors := make(map[string]*tensor.Info, len(p.Tensors))
	for i := range p.Tensors {
		tensors[p.Tensors[i].Name] = &p.Tensors[i]
	}
	c := *g
	c.Initializers = nil
	for _, t := range g.Initializers {
		if info := tensors[t.Name]; info != nil {
			t.Dims, t.DType = info.Shape, codeOf(info.DType)
			c.Initializers = append(c.Initializers, t)
		}
	}
	if p.Graph == nil {
		return nil
	}
	b := graphMsg.Append(nil, &c)
	f := &parsed{graph: payload{Source: *protobuf.InMemory(b), block: graphBlock}}
	r := onnxgraph.Reader{Schema: &graphSchema, Source: &f.graph.Source, Tensor: f.attributeTensor}
	own, err := r.Read(protobuf.Field{End: f.graph.Size})
	if err != nil {
		return nil
	}
	if !onnxgraph.Equal(own, p.Graph) {
		return nil
	}
	return &c
}

// quantizes reports whether a file has the quantization of a tensor, whatever it means.
func (o *original) quantizes(info *tensor.Info) bool {
	if o == nil || o.messages[info.Name] == nil {
		return false
	}
	return o.messages[info.Name].Metadata.quantization().Equal(info.Quant)
}

// follow gives a tensor of a plan what its file says besides.
func (o *original) follow(info *tensor.Info, it *item) {
	t := o.messages[info.Name]
	if t == nil {
		return
	}
	it.message.Unknown = t.Unknown
	if t.Metadata == nil {
		return
	}
	meta := *t.Metadata
	if !o.quantizes(info) {
		meta.Quantization = nil
		if m := it.message.Metadata; m != nil {
			meta.Quantization = m.Quantization
		}
	}
	it.message.Metadata = &meta
}

// lose lists the native kinds that a plan does not agree with, and returns the others, nil for a
// plan without.
func lose(p *driver.Plan, l *driver.LossList) *original {
	from, lost, err := carry(p)
	if err != nil {
		l.Native("", err)
	}
	for _, k := range lost {
		l.Native(k.Name, fmt.Errorf("%w: %d, and the graph is another", driver.ErrUnsupported, k.Count))
	}
	return from
}
