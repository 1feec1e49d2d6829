package onnx

import (
	"bytes"
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
)

// graphSchema describes the parts of a graph that are specific to ONNX.
var graphSchema = onnxgraph.Schema{
	Graph: graphMsg, Nodes: 1, Name: 2, Initializers: 5, Inputs: 11, Outputs: 12,
	Node:       onnxgraph.NodeFields{Inputs: 1, Outputs: 2, Name: 3, Op: 4},
	TensorName: 8,

	DType: dtypeOf, Code: codeOf, Explicit: true, CheckTensor: checkTensor, AppendTensor: putTensor,
	DataFields: dataFields, RawData: rawData,
}

// readGraph reads the graph and lists its tensors. A graph with only initializers counts as none.
func (f *parsed) readGraph(msg protobuf.Field) error {
	f.graph = true
	f.inside = true
	msg.At = msg.Start // of errors in the graph as a whole
	d := &onnxgraph.Decoder{Schema: &graphSchema, Source: f.s, Format: f}
	g, err := d.Decode(msg, 2)
	f.inside = false
	if err != nil || len(g.Nodes)+len(g.Inputs)+len(g.Outputs) == 0 {
		return err
	}
	if err = f.s.Tally.Charge(msg.At, 16*int64(f.index.Len())); err == nil {
		g.Initializers = f.index.Names()
		f.decoded = g
	}
	return err
}

// decodeGraph decodes a graph in wire form without initializers.
func decodeGraph(b []byte) (*schema.Graph, error) {
	s := protobuf.InMemory(b)
	f := newParsed(s, &driver.Index{}, &driver.ParseOptions{})
	if err := f.readGraph(s.All()); err != nil {
		return nil, protobuf.InField("graph", err)
	}
	return f.decoded, nil
}

// watch checks the messages outside of the neutral graph that need more than their encoding
// checked.
func (f *parsed) watch(m *protobuf.Message, msg protobuf.Field, level int) (done bool, err error) {
	switch {
	case m == sparseMsg && f.inside:
		return true, f.sparse(msg, level)
	case m != tensorMsg:
		return false, nil
	}
	// A copy of the model has the data of tensors in functions and trainings inside.
	if err = f.head.read(f.s, msg, level); err == nil && f.head.location == 1 {
		err = f.tensor(f.head, msg, level)
	}
	return true, err
}

// tensor reads and checks a tensor that is part of the graph, and declares the file of its data.
func (f *parsed) tensor(h *head, msg protobuf.Field, level int) error {
	err := h.read(f.s, msg, level)
	if err == nil {
		err = h.check(msg.At)
	}
	if err == nil && h.location == 1 && f.src != nil {
		err = protobuf.InField("external_data", f.external(h, msg.At))
	}
	return err
}

// AttributeTensor implements onnxgraph.Format.
func (f *parsed) AttributeTensor(_ int64, level int, pieces ...protobuf.Field) (tensor.View, error) {
	if err := f.tensor(f.head, pieces[0], level); err != nil {
		return tensor.View{}, err
	}
	if err := f.s.Tally.Charge(pieces[0].At, f.head.size); err != nil {
		return tensor.View{}, err
	}
	return f.view(f.head, f.s), nil
}

// view makes the view of a tensor that was read from s and checked: of the private copy of the
// graph, or of an external file.
func (f *parsed) view(h *head, s *protobuf.Source) (v tensor.View) {
	info := tensor.Info{Name: string(h.name), DType: dtypeOf(h.code), Shape: append(tensor.Shape{}, h.dims...), Encoding: h.encoding()}
	if h.location == 1 {
		if size := f.files.Size(h.ext.location); h.ext.length < 0 && size >= h.ext.offset {
			h.size = size - h.ext.offset
		}
		info.Offset = h.ext.offset
		info.Size = h.size
		info.Stored = h.size
		return f.files.View(f.src, h.ext.location, &info)
	}
	if data, err := h.bytes(s); err == nil { // values that do not fit their type keep no file from being read
		v, _ = tensor.FromInfo(info, bytes.Clone(data))
	}
	return v
}

// Initializer implements onnxgraph.Format. It lists the initializers of the graph; those of
// subgraphs are in the scope of that graph.
func (f *parsed) Initializer(msg protobuf.Field, level int, main bool) ([]byte, error) {
	h := f.head
	if err := f.tensor(h, msg, level); err != nil {
		return nil, err
	}
	if !main {
		return h.name, checkName(h.name, msg.At)
	}
	t := driver.Tensor{Name: h.name, DType: dtypeOf(h.code), Encoding: h.encoding(), Shape: h.dims, Size: h.size, Offset: h.raw.Start}
	switch {
	case h.location == 1:
		t.Space = h.ext.space
		t.Offset = h.ext.offset
	case h.list != 0:
		t.Loaded = true
		t.Offset = -1
	}
	return nil, f.add(&t, msg, record{more: h.more})
}

func checkName(name []byte, at int64) error {
	if err := driver.CheckName(name); err != nil {
		return protobuf.InField("name", &protobuf.Defect{At: at, Err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	return nil
}

// sparse checks that the values and indices of a sparse tensor fit, and lists an initializer of the
// main graph.
func (f *parsed) sparse(msg protobuf.Field, level int) error {
	values := newHead()
	indices := newHead()
	dims := tensor.Shape(nil)
	w := f.s.Walk(sparseMsg, msg, level)
	for w.Next() {
		switch w.Num {
		case 1:
			w.Err = f.tensor(values, w.Field, level+1)
		case 2:
			w.Err = f.tensor(indices, w.Field, level+1)
		case 3:
			dims, w.Err = protobuf.AppendInts(f.s, dims, &w.Field, maxRank)
		}
	}
	if w.Err != nil {
		return w.Err
	}
	if _, err := dims.Elems(); err != nil {
		return protobuf.InField("dims", &protobuf.Defect{At: msg.At, Err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	n := values.dims
	index := indices.dims
	switch {
	case len(n) != 1:
		return protobuf.Corruptf("values", msg.At, "missing, or not of one dim")
	case n[0] > 0 && (dtypeOf(indices.code) != tensor.Int64 || len(index) < 1 || len(index) > 2 || index[0] != n[0] || len(index) == 2 && index[1] != int64(len(dims))):
		return protobuf.Corruptf("indices", msg.At, "type %d of %v for %d values of %v", indices.code, tensor.Shape(index), n[0], dims)
	case level > 3:
		return nil
	}
	t := driver.Tensor{Name: values.name, Shape: dims, Size: msg.End - msg.Start, Offset: -1, Loaded: true}
	t.Encoding = &tensor.Encoding{Name: sparsePrefix + typeName(values.code)}
	return f.add(&t, msg, record{sparse: true})
}
