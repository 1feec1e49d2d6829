package onnx

import (
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
)

// decodeGraph decodes a graph in wire form that has no initializers.
func decodeGraph(text string) (*schema.Graph, error) {
	counts := messages.NewCounts()
	counts.Around = 1
	m, err := table.Check(typeGraph, text, counts)
	if err != nil {
		return nil, placed(typeGraph, text, "graph", err)
	}
	p := &parser{f: &parsed{index: &driver.Index{}}, head: &head{}}
	p.room.Most = p.f.memory.Room(int64(len(text)))
	err = p.decodeGraph(m)
	if err != nil {
		return nil, placed(typeGraph, text, "graph", err)
	}
	return p.f.decoded, nil
}

// placed adds the field to an error about a message that is not in a file.
func placed(t messages.Type, text, name string, err error) error {
	e, ok := err.(*messages.Error)
	if !ok {
		return err
	}
	name = messages.Join(name, table.Path(t, text, e))
	return &messages.Placed{Field: name, At: e.At + e.Skip, Err: e.Err}
}

// checkTensor checks the tensor in h, which is part of the model, and declares the file of its
// data.
func (p *parser) checkTensor(h *head) error {
	err := h.check()
	if err != nil || h.location != 1 || p.f.src == nil {
		return err
	}
	return p.findExternal(h)
}

// findExternal locates external data.
func (p *parser) findExternal(h *head) error {
	space, size, err := p.f.files.Find(p.f.src, h.ext.location, h.ext.length < 0)
	if err != nil {
		return err
	}
	h.ext.space = space
	if h.ext.length >= 0 || size < 0 {
		return nil
	}
	// To the end of the file.
	n := size - h.ext.offset
	if n < 0 {
		return messages.Errorf(messages.OfMessage, "external_data.offset", tensor.ErrTruncated,
			"%d, the file has %d bytes", h.ext.offset, size)
	}
	elems, _ := tensor.Shape(h.dims).Elems()
	return h.setSize(n, elems, messages.OfMessage, "external_data.length")
}

// Attribute implements onnxgraph.Tensors.
func (p *parser) Attribute(at int64, pieces []messages.Message) (tensor.View, error) {
	h := p.head
	err := h.read(pieces[0])
	if err != nil {
		return tensor.View{}, err
	}
	err = messages.MessageAt(p.checkTensor(h), at)
	if err != nil {
		return tensor.View{}, err
	}
	charged := p.room.Charge(at, h.size)
	if charged != nil {
		return tensor.View{}, charged
	}
	p.f.external = p.f.external || h.location == 1
	return p.f.view(h), nil
}

// view makes the view of a tensor that was read and checked: a copy of its data, or of an external
// file.
func (f *parsed) view(h *head) tensor.View {
	info := tensor.Info{
		Name:     string(h.name),
		DType:    dtypeOf(h.code),
		Shape:    append(tensor.Shape{}, h.dims...),
		Encoding: h.encoding(),
	}
	if h.location == 1 {
		size := f.files.Size(h.ext.location)
		if h.ext.length < 0 && size >= h.ext.offset {
			h.size = size - h.ext.offset
		}
		info.Offset = h.ext.offset
		info.Size = h.size
		info.Stored = h.size
		return f.files.View(f.src, h.ext.location, &info)
	}
	data, err := h.bytes()
	if err != nil {
		return tensor.View{} // values that do not fit their type keep no file from being read
	}
	v, _ := tensor.FromInfo(info, data)
	return v
}

// Initializer implements onnxgraph.Tensors. The parser has listed those of the outermost graph;
// those of subgraphs are in the scope of that graph.
func (p *parser) Initializer(at int64, m messages.Message, main bool) (string, bool, error) {
	if main {
		return "", false, nil
	}
	h := p.head
	err := h.read(m)
	if err != nil {
		return "", false, err
	}
	err = messages.MessageAt(p.checkTensor(h), at)
	if err != nil {
		return "", false, err
	}
	p.f.external = p.f.external || h.location == 1
	return string(h.name), true, messages.MessageAt(checkName(h.name), at)
}

func checkName(name []byte) error {
	err := driver.CheckName(name)
	if err != nil {
		err = fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)
		return &messages.Error{At: messages.OfMessage, Field: "name", Err: err}
	}
	return nil
}

// add lists the initializer in h, whose message is at from..to in the file.
func (p *parser) add(h *head, from, to int64) error {
	t := driver.Tensor{
		Name: h.name, DType: dtypeOf(h.code), Encoding: h.encoding(), Shape: h.dims,
		Size: h.size, Offset: h.raw.offset,
	}
	switch {
	case h.location == 1:
		t.Space = h.ext.space
		t.Offset = h.ext.offset
	case h.list != 0:
		t.Loaded = true
		t.Offset = -1
	}
	return p.list(&t, record{at: from, end: to})
}

// list lists a tensor.
func (p *parser) list(t *driver.Tensor, r record) error {
	err := checkName(t.Name)
	if err != nil {
		return err
	}
	if p.f.index.Add(t) != nil {
		return badField("name", "the name %q occurs twice", t.Name)
	}
	p.f.records = append(p.f.records, r)
	return nil
}

// Sparse implements onnxgraph.Tensors. The parser has listed those of the outermost graph.
func (p *parser) Sparse(at int64, m messages.Message, main bool) error {
	if main {
		return nil
	}
	_, err := p.checkSparse(m)
	return messages.MessageAt(err, at)
}

// addSparse lists a sparse initializer, whose message is at from..to in the file.
func (p *parser) addSparse(m messages.Message, from, to int64) error {
	t, err := p.checkSparse(m)
	if err != nil {
		return err
	}
	t.Size = to - from
	return p.list(t, record{at: from, end: to, sparse: true})
}

// checkSparse checks that the values and indices of a sparse tensor fit.
func (p *parser) checkSparse(m messages.Message) (*driver.Tensor, error) {
	values := &head{}
	indices := &head{}
	dims := tensor.Shape(nil)
	for c := m.Cursor(); c.Next(); {
		var err error
		switch c.Number {
		case sparseValues:
			err = p.checkPart(values, &c)
		case sparseIndices:
			err = p.checkPart(indices, &c)
		case sparseDims:
			if len(dims)+c.Ints() > maxRank {
				err = messages.Errorf(c.At(), "", tensor.ErrLimit, "more than %d", maxRank)
				break
			}
			dims = messages.AppendInts(dims, &c)
		}
		if err != nil {
			return nil, err
		}
	}
	_, err := dims.Elems()
	if err != nil {
		return nil, wrongDims(err)
	}
	n := values.dims
	if len(n) != 1 {
		return nil, badField("values", "missing, or not of one dim")
	}
	if n[0] > 0 && !indices.index(n[0], len(dims)) {
		return nil, badField("indices", "type %d of %v for %d values of %v",
			indices.code, tensor.Shape(indices.dims), n[0], dims)
	}
	encoding := &tensor.Encoding{Name: sparsePrefix + typeName(values.code)}
	t := &driver.Tensor{Name: values.name, Shape: dims, Encoding: encoding, Offset: -1, Loaded: true}
	return t, nil
}

// checkPart reads and checks a tensor of a sparse tensor.
func (p *parser) checkPart(h *head, c *messages.Cursor) error {
	err := h.read(c.Message())
	if err != nil {
		return err
	}
	p.f.external = p.f.external || h.location == 1
	return messages.MessageAt(p.checkTensor(h), c.At())
}

// index reports whether a tensor can hold the indices of n values, linear or of each dim.
func (h *head) index(n int64, rank int) bool {
	if dtypeOf(h.code) != tensor.Int64 || len(h.dims) < 1 || len(h.dims) > 2 || h.dims[0] != n {
		return false
	}
	return len(h.dims) == 1 || h.dims[1] == int64(rank)
}
