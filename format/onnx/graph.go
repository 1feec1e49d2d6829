package onnx

import (
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Graph implements driver.Parsed. A graph that says nothing but what tensors there
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
	r := onnxgraph.Reader{Schema: &graphSchema, Source: &f.graph.Source, Tensor: f.attributeView}
	g, err := r.Read(all)
	if err != nil || len(g.Nodes)+len(g.Inputs)+len(g.Outputs) == 0 {
		return nil, err
	}
	g.Initializers = make([]string, f.index.Len())
	for i := range g.Initializers {
		g.Initializers[i] = f.index.Name(i)
	}
	return g, nil
}

// graphSchema is what of the graph is ONNX's own.
var graphSchema = onnxgraph.Schema{
	Graph: graphMsg, Nodes: 1, Name: 2, Initializers: 5, Inputs: 11, Outputs: 12,
	Node:       onnxgraph.NodeFields{Inputs: 1, Outputs: 2, Name: 3, Op: 4},
	TensorName: 8,
	SetType: func(v *driver.ValueInfo, code int32) {
		if v.DType = dtypeOf(code); v.DType == tensor.Invalid && code != 0 {
			v.Code = strconv.Itoa(int(code))
		}
	},
}

// headOf reads the message of a tensor.
func headOf(raw []byte) (*head, *protobuf.Source, error) {
	h, s := &head{}, protobuf.InMemory(raw)
	h.reset()
	err := h.read(s, 0, s.Size, 3)
	if err == nil {
		err = h.check(0)
	}
	return h, s, err
}

// attributeView makes the view of a tensor inside an attribute: of the private copy of
// the graph, or of an external file. It was checked on open, and to be in one piece.
func (f *parsed) attributeView(pieces ...protobuf.Field) (tensor.View, error) {
	raw, err := f.graph.Bytes(pieces[0].Start, pieces[0].End)
	if err != nil {
		return tensor.View{}, err
	}
	return f.viewOf(raw)
}

// viewOf is attributeView for the message of a tensor.
func (f *parsed) viewOf(raw []byte) (tensor.View, error) {
	h, s, err := headOf(raw)
	if err != nil {
		return tensor.View{}, nil
	}
	info := tensor.Info{Name: string(h.name), DType: dtypeOf(h.code), Shape: append(tensor.Shape{}, h.dims...), Encoding: h.encoding(map[string]*tensor.Encoding{})}
	if h.location == 1 {
		x := f.files[string(h.ext.location)]
		if h.ext.length < 0 && x.size >= h.ext.offset {
			h.size = x.size - h.ext.offset
		}
		info.Offset, info.Size, info.Stored = h.ext.offset, h.size, h.size
		dir, _ := f.src.Dir()
		return dir.View(x.space, &info), nil
	}
	data, err := h.bytes(s)
	if err != nil {
		return tensor.View{}, nil
	}
	v, _ := tensor.FromInfo(info, data)
	return v, nil
}
