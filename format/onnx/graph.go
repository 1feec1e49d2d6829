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

var neutralTensor = onnxgraph.Bits(1, 2, floatData, int32Data, stringData, int64Data, 8, rawData, doubleData, uint64Data, 13, 14)

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

	Code: codeOf, Explicit: true, CheckTensor: checkTensor, AppendTensor: putTensor,
	Tensor: tensorMsg, DataFields: onnxgraph.Bits(13, 14, rawData), RawData: rawData,
	Neutral: onnxgraph.Fields{
		modelMsg:      onnxgraph.Bits(1, 2, 3, 4, 5, 6, 7, 8, 14),
		opsetMsg:      onnxgraph.Bits(1, 2),
		entryMsg:      onnxgraph.Bits(1, 2),
		graphMsg:      onnxgraph.Bits(1, 2, 5, 11, 12),
		nodeMsg:       onnxgraph.Bits(1, 2, 3, 4, 5, 7),
		attributeMsg:  onnxgraph.Bits(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20),
		tensorMsg:     neutralTensor,
		valueInfoMsg:  onnxgraph.Bits(1, 2),
		typeMsg:       onnxgraph.Bits(1),
		tensorTypeMsg: onnxgraph.Bits(1, 2),
		shapeMsg:      onnxgraph.Bits(1),
		dimensionMsg:  onnxgraph.Bits(1, 2),
	},
	ValueNames: onnxgraph.Fields{
		nodeMsg: onnxgraph.Bits(1, 2), valueInfoMsg: onnxgraph.Bits(1), annotationMsg: onnxgraph.Bits(1),
		parameterMsg: onnxgraph.Bits(2), bindingMsg: onnxgraph.Bits(1, 2), shardingMsg: onnxgraph.Bits(1),
	},
	Separate:    onnxgraph.Fields{modelMsg: onnxgraph.Bits(25)}, // functions
	Annotations: onnxgraph.Fields{graphMsg: onnxgraph.Bits(13, 14), modelMsg: onnxgraph.Bits(20)},
	Typed:       onnxgraph.Fields{graphMsg: onnxgraph.Bits(13)},
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
