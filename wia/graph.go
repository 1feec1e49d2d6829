package wia

import (
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/tensor"
)

// decodeGraph decodes the graph, which has been checked. The tensors it declares must have been
// listed.
func (p *parser) decodeGraph() error {
	g := p.f.graph()
	if g.size == 0 {
		return nil
	}
	p.declared = make([]bool, p.f.index.Len())
	d := &onnxgraph.Decoder{Dialect: &dialect, Tensors: p}
	d.Room.Most = p.f.memory.Room(p.f.hdr.blocks[graphBlock].size)
	decoded, err := d.Decode(p.message)
	if err != nil {
		return g.place(graphBlock, typeGraph, err)
	}
	err = p.f.memory.Reserve(d.Room.Cost)
	if err != nil {
		return g.locate(&messages.Placed{Field: graphBlock.String(), Err: err})
	}
	p.f.decoded = decoded
	return nil
}

// Initializer implements onnxgraph.Tensors. Subgraphs have a separate scope: their
// initializers with data are not tensors of the file.
func (p *parser) Initializer(at int64, m messages.Message, main bool) (string, bool, error) {
	h := p.head
	h.reset()
	err := h.read(m)
	if err != nil {
		return "", false, err
	}
	err = p.checkInitializer(main)
	if err != nil {
		return "", false, messages.MessageAt(err, at)
	}
	return string(h.name), true, nil
}

// checkInitializer checks the initializer in head.
func (p *parser) checkInitializer(main bool) error {
	h := p.head
	x := p.f.index
	if len(h.name) == 0 {
		return emptyName()
	}
	if h.data != 0 && !main {
		err := h.check()
		if err != nil {
			return err
		}
		return p.addExternalInGraph()
	}
	i, ok := x.LookupBytes(h.name)
	switch {
	case !ok:
		return badField("", "%q has no data", h.name)
	case main && p.declared[i]:
		return badField("name", "%q is declared twice", h.name)
	case dtypeOf(h.code) != x.DType(i):
		return badField("dtype", "%q is declared with code %d, its data is %v",
			h.name, h.code, x.DType(i))
	case !x.Shape(i).Equal(h.dims):
		return badField("dims", "%q is declared as %v, its data is %v", h.name, h.dims, x.Shape(i))
	}
	p.declared[i] = p.declared[i] || main
	p.f.initializerData = p.f.initializerData || main && h.data != 0
	return nil
}

// Sparse implements onnxgraph.Tensors: the format has no sparse tensors.
func (p *parser) Sparse(int64, messages.Message, bool) error { return nil }

// Attribute implements onnxgraph.Tensors. A tensor in an attribute may lack
// a name, but must have data.
func (p *parser) Attribute(at int64, pieces []messages.Message) (tensor.View, error) {
	h := p.head
	h.reset()
	for _, piece := range pieces {
		err := h.read(piece)
		if err != nil {
			return tensor.View{}, err
		}
	}
	err := h.check()
	if err != nil {
		return tensor.View{}, messages.MessageAt(err, at)
	}
	err = p.addExternalInGraph()
	if err != nil {
		return tensor.View{}, messages.MessageAt(err, at)
	}
	return p.f.view(h, p.f.graph().data)
}

// addExternalInGraph records the external data of the tensor in head, which is inside the graph and
// no tensor of the file. A graph being written has no external files yet.
func (p *parser) addExternalInGraph() error {
	if p.head.data != externalData || p.f.src == nil {
		return nil
	}
	_, err := p.addExternal(-1)
	return err
}

// addExternal records that the tensor in head has its data in an external file. i is
// its index, negative for a tensor inside the graph.
func (p *parser) addExternal(i int) (driver.Space, error) {
	h := p.head
	// There are few in real files; in a hostile file the list outgrows the file.
	err := p.f.memory.Reserve(externalRangeBytes + int64(len(h.name)))
	if err != nil {
		return 0, wrongField("", err)
	}
	e := externalRange{span: span{h.ext.offset, h.size}, tensor: i}
	e.sum, _ = parseChecksum(h.ext.checksum)
	if i < 0 {
		e.name = string(h.name)
	}
	e.space, _, err = p.f.files.Find(p.f.src, h.ext.location, false)
	n := len(p.f.externals)
	if n == cap(p.f.externals) {
		p.f.externals = slices.Grow(p.f.externals, n) // append would leave four times as much behind
	}
	p.f.externals = append(p.f.externals, e)
	return e.space, err
}

// view returns the view of a tensor inside the graph, which was read from a message and checked. It
// refers to the private copy of that, data, or to an external file.
func (f *parsed) view(h *head, data []byte) (tensor.View, error) {
	info := tensor.Info{
		Name:  string(h.name),
		DType: h.dtype,
		Shape: append(tensor.Shape{}, h.dims...),
		Quant: h.quant.quantization(),
	}
	if h.data != externalData {
		return tensor.FromInfo(info, data[h.raw.off:h.raw.end():h.raw.end()])
	}
	info.Offset = h.ext.offset
	info.Size = h.size
	info.Stored = h.size
	return f.files.View(f.src, h.ext.location, &info), nil
}

// graphOf decodes a graph in wire format whose tensors are those of a schema.
func graphOf(b []byte, tensors []tensor.Info) (*schema.Graph, error) {
	p := &parser{f: &parsed{index: &driver.Index{}}, head: &head{}}
	*p.f.graph() = payload{data: b, size: int64(len(b))}
	p.f.hdr.blocks[graphBlock].size = int64(len(b))
	for i := range tensors {
		t := &tensors[i]
		_ = p.f.index.Add(&driver.Tensor{Name: []byte(t.Name), DType: t.DType, Shape: t.Shape})
	}
	err := p.checkGraph(p.newCounts())
	if err != nil {
		return nil, err
	}
	err = p.decodeGraph()
	return p.f.decoded, err
}
