package wia

import (
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

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

	Code: codeOf, CheckTensor: checkTensor, AppendTensor: putTensor,
	Tensor: tensorMsg, DataFields: onnxgraph.Bits(rawArm, externalArm), RawData: rawArm,
	Neutral: onnxgraph.Fields{
		nativeMsg:     onnxgraph.Bits(1, 2, 3, 4),
		graphMsg:      onnxgraph.Bits(1, 2, 3, 4, 5, 6),
		nodeMsg:       onnxgraph.Bits(1, 2, 3, 4, 5, 7),
		attributeMsg:  onnxgraph.Bits(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20),
		tensorMsg:     onnxgraph.Bits(1, 2, 3, rawArm, externalArm, 6),
		tensorMetaMsg: onnxgraph.Bits(3),
		externalMsg:   onnxgraph.Bits(1, 2, 3, 4),
		quantMsg:      onnxgraph.Bits(1, 2, 3, 4, 5),
		perChannelMsg: onnxgraph.Bits(1, 2, 3),
		valueInfoMsg:  onnxgraph.Bits(1, 2),
		typeMsg:       onnxgraph.Bits(1),
		tensorTypeMsg: onnxgraph.Bits(1, 2),
		shapeMsg:      onnxgraph.Bits(1),
		dimensionMsg:  onnxgraph.Bits(1, 2),
	},
	ValueNames: onnxgraph.Fields{nodeMsg: onnxgraph.Bits(3, 4), valueInfoMsg: onnxgraph.Bits(1)},
}

// attributeTensor makes the view of a tensor inside an attribute: of the private copy
// of the graph, or of an external file. It was checked on open.
func (f *parsed) attributeTensor(pieces ...protobuf.Field) (v tensor.View, err error) {
	h := &head{}
	for _, piece := range pieces {
		if err := h.read(&f.graph.Source, piece.Start, piece.End, 3); err != nil {
			return v, err
		}
	}
	if err := h.check(0); err != nil {
		return v, err
	}
	info := tensor.Info{Name: string(h.name), DType: h.dt, Shape: append(tensor.Shape{}, h.dims...), Quant: h.quant.common()}
	if h.arm == externalArm {
		info.Offset, info.Size, info.Stored = h.ext.offset, h.size, h.size
		dir, _ := f.src.Dir()
		return dir.View(f.spaces[string(h.ext.location)], &info), nil
	}
	data, err := f.graph.Bytes(h.raw.Start, h.raw.End)
	if err == nil {
		v, err = tensor.FromInfo(info, data)
	}
	return v, err
}

// common returns the parameters in the common form, nil for none.
func (q *quantHead) common() *tensor.Quantization {
	if !q.quantized() {
		return nil
	}
	out := &tensor.Quantization{Scales: []float32{q.scale}, ZeroPoints: []int32{q.zero}}
	if q.perChannel {
		out.Scales, out.ZeroPoints = q.scales, q.zeros
	}
	q.quantization(out)
	return out
}
