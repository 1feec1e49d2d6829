package wia

import (
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// decoded returns the message of the graph block, nil when that is empty.
func (f *parsed) decoded() (*Graph, error) {
	if f.graph.Size == 0 {
		return nil, nil
	}
	f.decoding.Lock()
	defer f.decoding.Unlock()
	if f.message != nil || f.graphErr != nil {
		return f.message, f.graphErr
	}
	n, err := f.reserve(protobuf.AsMessage)
	if err != nil {
		return nil, err // there may be room the next time
	}
	g := &Graph{}
	if err := f.graph.Merge(graphMsg, g, protobuf.Field{End: f.graph.Size}); err != nil {
		f.memory.Release(n)
		f.graphErr = f.graph.locate("graph", err)
		return nil, f.graphErr
	}
	f.message = g
	return g, nil
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

// Graph implements driver.Parsed.
func (f *parsed) Graph() (*driver.Graph, error) {
	if f.graph.Size == 0 {
		return nil, nil
	}
	n, err := f.reserve(protobuf.AsNeutral)
	if err != nil {
		return nil, err
	}
	defer f.memory.Release(n)
	r := onnxgraph.Reader{Schema: &graphSchema, Source: &f.graph.Source, Tensor: f.attributeTensor}
	g, err := r.Read(protobuf.Field{End: f.graph.Size})
	return g, f.graph.locate("graph", err)
}

// graphSchema is what of the graph is this format's own.
var graphSchema = onnxgraph.Schema{
	Graph: graphMsg, Name: 1, Nodes: 2, Inputs: 3, Outputs: 4, Initializers: 5,
	Node:       onnxgraph.NodeFields{Name: 1, Op: 2, Inputs: 3, Outputs: 4},
	TensorName: 1,
	Undeclared: []string{},
	SetType: func(v *driver.ValueInfo, code int32) {
		if v.DType = dtypeOf(code); v.DType == tensor.Invalid && code != 0 {
			v.Code = strconv.Itoa(int(code))
		}
	},
}

// attributeTensor makes the view of a tensor inside an attribute of the neutral graph.
func (f *parsed) attributeTensor(pieces ...protobuf.Field) (tensor.View, error) {
	t := &Tensor{}
	for _, piece := range pieces {
		if err := f.graph.Merge(tensorMsg, t, piece); err != nil {
			return tensor.View{}, err
		}
	}
	return f.attributeView(t), nil
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
