package wia

import (
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wiagraph"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// graphSchema describes the graph messages of this format to package wiagraph.
var graphSchema = wiagraph.Schema{
	Graph: graphMsg, Name: 1, Nodes: 2, Inputs: 3, Outputs: 4, Initializers: 5,
	Node:       wiagraph.NodeFields{Name: 1, Op: 2, Inputs: 3, Outputs: 4},
	TensorName: 1, Merges: true, UniqueOutputs: true,

	DType: dtypeOf, Code: codeOf, CheckTensor: checkTensor, AppendTensor: putTensor,
	DataFields: []protowire.Number{rawArm, externalArm}, RawData: rawArm,
}

// decodeGraph decodes the graph. The tensors it declares must have been listed.
func (p *parser) decodeGraph() error {
	g := p.graph()
	if g.Size == 0 {
		return nil
	}
	p.declared = make([]bool, p.index.Len())
	g.Tally = p.tally(p.memory.Room(p.hdr.blocks[graphBlock].size))
	d := &wiagraph.Decoder{Schema: &graphSchema, Source: &g.Source, Format: p}
	decoded, err := d.Decode(g.All(), 1)
	if err == nil {
		if err = p.memory.Reserve(g.Tally.Cost); err != nil {
			err = &protobuf.Defect{Err: err}
		}
	}
	p.decoded = decoded
	g.Tally = nil
	return g.locate("graph", err)
}

// Initializer implements wiagraph.Format. Subgraphs have a separate scope: their
// initializers with data are not tensors of the file.
func (p *parser) Initializer(msg protobuf.Field, level int, main bool) ([]byte, error) {
	h := p.head
	x := p.index
	h.reset()
	if err := h.read(&p.graph().Source, msg, level); err != nil {
		return nil, err
	}
	if len(h.name) == 0 {
		return nil, emptyName(msg.At)
	}
	if h.data != 0 && !main {
		return h.name, p.referInGraph(msg.At, h.check(msg.At))
	}
	i, ok := x.LookupBytes(h.name)
	switch {
	case !ok:
		return nil, protobuf.Corruptf("", msg.At, "%q has no data", h.name)
	case main && p.declared[i]:
		return nil, protobuf.Corruptf("name", msg.At, "%q is declared twice", h.name)
	case dtypeOf(h.dtype) != x.DType(i):
		return nil, protobuf.Corruptf("dtype", msg.At, "%q is declared with code %d, its data is %v", h.name, h.dtype, x.DType(i))
	case !x.Shape(i).Equal(h.dims):
		return nil, protobuf.Corruptf("dims", msg.At, "%q is declared as %v, its data is %v", h.name, h.dims, x.Shape(i))
	}
	p.declared[i] = p.declared[i] || main
	p.initializerData = p.initializerData || main && h.data != 0
	return h.name, nil
}

// AttributeTensor implements wiagraph.Format. A tensor in an attribute may lack
// a name, but must have data.
func (p *parser) AttributeTensor(at int64, level int, pieces ...protobuf.Field) (tensor.View, error) {
	h := p.head
	h.reset()
	for _, piece := range pieces {
		if err := h.read(&p.graph().Source, piece, level); err != nil {
			return tensor.View{}, err
		}
	}
	if err := p.referInGraph(at, h.check(at)); err != nil {
		return tensor.View{}, err
	}
	return p.view(h, &p.graph().Source)
}

// referInGraph records the external data of a tensor inside the graph, which is not a
// tensor of the file. A graph being written has no external files yet.
func (p *parser) referInGraph(at int64, err error) error {
	if err == nil && p.head.data == externalArm && p.src != nil {
		_, err = p.refer(-1, at)
	}
	return err
}

// refer records that the tensor in head has its data in an external file. i is
// its index, negative for a tensor inside the graph, and at the offset for errors.
func (p *parser) refer(i int, at int64) (driver.Space, error) {
	h := p.head
	// There are few in real files; in a hostile file the list outgrows the file.
	if err := p.memory.Reserve(elsewhereBytes + int64(len(h.name))); err != nil {
		return 0, &protobuf.Defect{At: at, Err: err}
	}
	e := elsewhere{span: span{h.ext.offset, h.size}, tensor: i}
	e.sum, _ = parseChecksum(h.ext.checksum)
	if i < 0 {
		e.name = string(h.name)
	}
	var err error
	e.space, _, err = p.files.Find(p.src, h.ext.location, false)
	if n := len(p.externals); n == cap(p.externals) {
		p.externals = slices.Grow(p.externals, n) // append would leave four times as much behind
	}
	p.externals = append(p.externals, e)
	return e.space, err
}

// view returns the view of a tensor inside the graph, which was read from s and
// checked. It refers to the private copy of the graph or to an external file.
func (f *parsed) view(h *head, s *protobuf.Source) (tensor.View, error) {
	info := tensor.Info{Name: string(h.name), DType: h.dt, Shape: append(tensor.Shape{}, h.dims...), Quant: h.quant.quantization()}
	if h.data != externalArm {
		data, _ := s.Bytes(h.raw.Start, h.raw.End) // it is in memory
		return tensor.FromInfo(info, data)
	}
	info.Offset = h.ext.offset
	info.Size = h.size
	info.Stored = h.size
	return f.files.View(f.src, h.ext.location, &info), nil
}

// graphOf decodes a graph in wire format whose tensors are those of a schema.
func graphOf(b []byte, tensors []tensor.Info) (*schema.Graph, error) {
	p := &parser{parsed: &parsed{index: &driver.Index{}}, head: newHead()}
	p.graph().Source = *protobuf.InMemory(b)
	p.hdr.blocks[graphBlock].size = int64(len(b))
	for i := range tensors {
		t := &tensors[i]
		_ = p.index.Add(&driver.Tensor{Name: []byte(t.Name), DType: t.DType, Shape: t.Shape})
	}
	err := p.decodeGraph()
	return p.decoded, err
}
