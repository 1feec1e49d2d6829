package onnx

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
)

// graphTensors decodes the tensors in a graph.
type graphTensors struct {
	f *parsed
	s *protobuf.Source
	h head
}

// graphSchema describes the parts of a graph that are specific to ONNX.
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
	DataFields: onnxgraph.Bits(13, 14, rawData), RawData: rawData,
}

// readGraph decodes the graph and lists its sparse initializers. A graph with only initializers
// counts as none.
func (f *parsed) readGraph() error {
	s := &f.structure.Source
	names := 16 * int64(f.index.Len())
	s.Tally = protobuf.NewTally(f.o.Memory.Room(s.Size + names))
	s.Tally.Cost = names
	t := &graphTensors{f: f, s: s}
	s.Watch, s.Watched = sparseMsg, t.sparse
	defer func() { s.Tally, s.Watch = nil, nil }()
	d := &onnxgraph.Decoder{Schema: &graphSchema, Source: s, Format: t}
	g, err := d.Decode(f.graph, 2)
	if err != nil {
		return err
	}
	if err := f.o.Memory.Reserve(s.Tally.Cost); err != nil {
		return &protobuf.Defect{Err: err}
	}
	if len(g.Nodes)+len(g.Inputs)+len(g.Outputs) > 0 {
		g.Initializers = f.index.Names()
		f.decoded = g
	}
	return nil
}

// decodeGraph decodes a graph in wire form without initializers.
func decodeGraph(b []byte) (*driver.Graph, error) {
	f := &parsed{index: &driver.Index{}, o: &driver.Options{}, files: map[string]externalFile{}, unknown: map[string]*tensor.Encoding{}}
	f.structure.Source = *protobuf.InMemory(b)
	f.graph = f.structure.All()
	if err := f.readGraph(); err != nil {
		return nil, protobuf.InField("graph", err)
	}
	return f.decoded, nil
}

// declare registers the external file of a tensor that is not an initializer.
func (d *graphTensors) declare(msg protobuf.Field, level int) error {
	d.h.reset()
	if err := d.h.read(d.s, msg, level); err != nil || d.h.location != 1 {
		return err
	}
	return d.tensor(msg, level)
}

// tensor checks a tensor that is part of the graph, and declares the file of its data.
func (d *graphTensors) tensor(msg protobuf.Field, level int) error {
	d.h.reset()
	if err := d.h.read(d.s, msg, level); err != nil {
		return err
	}
	err := d.h.check(msg.At)
	if err == nil && d.h.location == 1 && d.f.src != nil {
		err = protobuf.InField("external_data", d.f.external(&d.h, msg.At, &driver.Tensor{}))
	}
	return err
}

// AttributeTensor implements onnxgraph.Format.
func (d *graphTensors) AttributeTensor(_ int64, level int, pieces ...protobuf.Field) (tensor.View, error) {
	if err := d.tensor(pieces[0], level); err != nil {
		return tensor.View{}, err
	}
	return d.f.view(&d.h, d.s)
}

// view makes the view of a tensor that was read from s and checked: of the private copy of the graph,
// or of an external file.
func (f *parsed) view(h *head, s *protobuf.Source) (tensor.View, error) {
	info := tensor.Info{Name: string(h.name), DType: dtypeOf(h.code), Shape: append(tensor.Shape{}, h.dims...), Encoding: h.encoding(f.unknown)}
	if h.location == 1 {
		x := f.files[string(h.ext.location)]
		if h.ext.length < 0 && x.size >= h.ext.offset {
			h.size = x.size - h.ext.offset
		}
		info.Offset, info.Size, info.Stored = h.ext.offset, h.size, h.size
		if f.src == nil {
			return tensor.View{}, nil
		}
		dir, _ := f.src.Dir()
		return dir.View(x.space, &info), nil
	}
	if s.Tally != nil && h.list != 0 {
		if err := s.Tally.Charge(h.message.At, h.size); err != nil {
			return tensor.View{}, err
		}
	}
	data, err := h.bytes(s)
	if err != nil {
		return tensor.View{}, nil // values that do not fit their type keep no file from being read
	}
	v, _ := tensor.FromInfo(info, data)
	return v, nil
}

// Initializer implements onnxgraph.Format for initializers of subgraphs, which are in the
// scope of that graph. Those of the main graph are not in the section.
func (d *graphTensors) Initializer(msg protobuf.Field, level int, _ bool) ([]byte, error) {
	if err := d.tensor(msg, level); err != nil {
		return nil, err
	}
	return d.h.name, checkName(d.h.name, msg.At)
}

func checkName(name []byte, at int64) error {
	if err := driver.CheckName(name); err != nil {
		return protobuf.InField("name", &protobuf.Defect{At: at, Err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	return nil
}

// sparse checks a sparse tensor, and lists an initializer of the main graph.
func (d *graphTensors) sparse(msg protobuf.Field, level int) error {
	x, err := d.sparseTensor(msg, level)
	if err != nil || level > 3 {
		return err
	}
	t := driver.Tensor{Size: msg.End - msg.Start, Offset: -1, Loaded: true, Encoding: sparseEncoding(x.code)}
	return d.f.add(x.name, x.dims, &t, record{at: msg.Start, end: msg.End, sparse: true}, msg.At)
}

// sparseEncoding names a sparse tensor with elements of that type.
func sparseEncoding(code int32) *tensor.Encoding {
	name := unknownName(code)
	if t := typeOf(code); t != nil {
		name = t.name
	}
	return &tensor.Encoding{Name: sparsePrefix + name}
}

// sparseHead describes a SparseTensorProto.
type sparseHead struct {
	name []byte
	code int32
	dims []int64
}

// sparseTensor checks that values and indices fit.
func (d *graphTensors) sparseTensor(msg protobuf.Field, level int) (x sparseHead, err error) {
	var values, indices tensor.Shape
	indexCode := int32(0)
	w := d.s.Walk(sparseMsg, msg, level)
	for w.Next() {
		switch w.Num {
		case 1:
			w.Err = d.tensor(w.Field, level+1)
			x.name, x.code, values = bytes.Clone(d.h.name), d.h.code, slices.Clone(tensor.Shape(d.h.dims))
		case 2:
			w.Err = d.tensor(w.Field, level+1)
			indexCode, indices = d.h.code, slices.Clone(tensor.Shape(d.h.dims))
		case 3:
			x.dims, w.Err = protobuf.AppendInts(d.s, x.dims, &w.Field, maxRank)
		}
	}
	if w.Err != nil {
		return x, w.Err
	}
	if _, err := tensor.Shape(x.dims).Elems(); err != nil {
		return x, protobuf.InField("dims", &protobuf.Defect{At: msg.At, Err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	switch {
	case len(values) != 1:
		return x, protobuf.InField("values", protobuf.Defectf(msg.At, tensor.ErrCorrupt, "missing, or not of one dim"))
	case values[0] > 0 && (dtypeOf(indexCode) != tensor.Int64 || len(indices) < 1 || len(indices) > 2 || indices[0] != values[0] || len(indices) == 2 && indices[1] != int64(len(x.dims))):
		return x, protobuf.InField("indices", protobuf.Defectf(msg.At, tensor.ErrCorrupt, "type %d of %v for %d values of %v", indexCode, indices, values[0], tensor.Shape(x.dims)))
	}
	return x, nil
}
