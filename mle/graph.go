package mle

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Descriptor is one tensor of the graph: a constant with data, or a
// placeholder for a value that exists when the model runs.
type Descriptor struct {
	Name   string       // of the tensor
	DType  tensor.DType // Invalid for an unknown code, which only a placeholder may have
	Code   uint8        // dtype code in the file
	Shape  tensor.Shape // dims from 0 to 2^32-1
	Offset uint64       // of the data in the uncompressed weights; ignored for placeholders
	Size   int64        // in bytes; 0 for placeholders
}

// Constant reports whether the tensor has data.
func (d *Descriptor) Constant() bool { return d.Size != 0 }

// IR is the graph of a file, with its numeric ids. Ids are usually indexes of
// descriptors, but some exporters use others. An operator means the same in either
// version, see [Op].
type IR struct {
	Inputs, Outputs []uint32     // ids
	Tensors         []Descriptor // constants and placeholders
	Nodes           []IRNode     // in the order of the file
}

// IRNode is a node of an IR.
type IRNode struct {
	Op                      Op              // what it computes
	Inputs, Outputs, Params []uint32        // ids
	Attributes              json.RawMessage // one JSON object, or nil
}

// IR returns the graph with its numeric ids. The caller must not modify it.
func (f *File) IR() *IR { return &f.f.ir }

// dynamicDim is the stored value of a placeholder's dim that is not fixed.
const dynamicDim = math.MaxUint32

// The memory of a decoded graph in bytes: of a node, an id in it, an id without
// descriptor, and a descriptor.
const (
	nodeBytes       = 120 + 64
	idBytes         = 16
	beyondBytes     = 160
	descriptorBytes = 64 + 8*maxRank
)

// ids returns the first n ids of a list and counts those without descriptor.
func (p *parser) ids(list wire.Uint32s, n int) []uint32 {
	f := p.f
	out := make([]uint32, n)
	for k := range out {
		out[k] = list.At(k)
		if uint64(out[k]) >= uint64(len(f.ir.Tensors)) {
			f.beyond++
		}
	}
	return out
}

// node is a node as it is in the file.
type node struct {
	op                               uint16
	numInputs, numOutputs, numParams uint16
	inputs, outputs, params          wire.Uint32s
	attrOffset, attrSize             uint32
}

func readNode(r *wire.Record) (n node) {
	n.op = r.U16("op")
	n.numInputs = r.U16("num_inputs")
	checkIDs(r, uint32(n.numInputs))
	n.numOutputs = r.U16("num_outputs")
	checkIDs(r, uint32(n.numOutputs))
	n.numParams = r.U16("num_params")
	checkIDs(r, uint32(n.numParams))
	n.inputs = r.Uint32s("input_ids", maxIDs)
	n.outputs = r.Uint32s("output_ids", maxIDs)
	n.params = r.Uint32s("param_ids", maxIDs)
	n.attrOffset = r.U32("attr_offset")
	n.attrSize = r.U32("attr_size")
	return n
}

// readNodes reads n nodes, and their attributes, which follow the last of them.
func (p *parser) readNodes(r *wire.Record, n int) {
	f := p.f
	p.built = int64(n)*nodeBytes + int64(len(f.ir.Tensors))*descriptorBytes
	if n == 0 {
		return
	}
	attrsAt := r.Offset() - f.h.Graph.Offset + int64(n)*nodeSize // in the section
	f.ir.Nodes = make([]IRNode, n)
	p.attributes = map[shared[byte]][]schema.Attribute{}
	for i := range r.Records("node", n, nodeSize) {
		row := readNode(r)
		if r.Err() != nil {
			return
		}
		to := &f.ir.Nodes[i]
		to.Op = opOfCode(row.op, f.h.Version)
		to.Inputs = p.ids(row.inputs, int(row.numInputs))
		to.Outputs = p.ids(row.outputs, int(row.numOutputs))
		to.Params = p.ids(row.params, int(row.numParams))
		p.built += (int64(row.numInputs) + int64(row.numOutputs) + int64(row.numParams)) * idBytes
		if row.attrSize == 0 {
			continue
		}
		from := int64(row.attrOffset)
		size := int64(row.attrSize)
		if from < attrsAt || from+size > int64(len(p.graph)) {
			r.BadField("attr_offset", format.ErrCorrupt,
				"attributes from %d to %d of the graph section, they are between %d and %d",
				from, from+size, attrsAt, len(p.graph))
			return
		}
		to.Attributes = p.graph[from:][:size:size]
		err := p.readAttributes(to.Attributes, from, attrsAt)
		if err != nil {
			r.Stop(err)
		}
	}
}

// shared identifies a list that nodes may share: attributes, or their JSON text.
type shared[T any] struct {
	first *T
	n     int
}

func sharedKey[T any](list []T) shared[T] { return shared[T]{&list[0], len(list)} }

// jsonOptions are the rules for attributes and metadata.
var jsonOptions = jsonmeta.Options{LoneSurrogates: true, Alias: true, Finite: true}

// readAttributes decodes attributes at offset at of the section, unless it did so for
// another node. Nodes may share them, so a small section can cause much work: ranges that
// overlap too much are refused.
func (p *parser) readAttributes(text json.RawMessage, at, attrsAt int64) error {
	f := p.f
	const proportion = 64
	key := sharedKey(text)
	_, known := p.attributes[key]
	if known {
		return nil
	}
	p.overlap += int64(len(text))
	area := int64(len(p.graph)) - attrsAt
	if p.overlap > proportion*area+1<<20 {
		return errorf("attributes", f.h.Graph.Offset+attrsAt, format.ErrLimit,
			"ranges of %d bytes overlap in %d", p.overlap, area)
	}
	list, err := jsonmeta.Parse(text, jsonOptions)
	if err != nil {
		return jsonError(err, "attributes", f.h.Graph.Offset+at)
	}
	p.attributes[key] = nil
	p.built += int64(len(text)+len(list)*jsonmeta.EntryBytes) + 16*int64(bytes.Count(text,
		[]byte{','}))
	if p.built <= f.memory.Room(f.structure()) { // otherwise neutral fails
		attributes := make([]schema.Attribute, len(list))
		for i, e := range list {
			attributes[i] = schema.Attribute{Name: e.Key, Value: attributeValue(e.Value)}
		}
		p.attributes[key] = attributes
	}
	return nil
}

// structure returns the size of the sections that the neutral graph is built from.
func (f *parsed) structure() int64 { return f.h.Graph.Size + f.h.Metadata.Size }

// neutral returns the neutral graph, nil if there are no nodes, inputs and outputs.
func (p *parser) neutral() (*schema.Graph, error) {
	f := p.f
	ir := &f.ir
	if len(ir.Nodes)+len(ir.Inputs)+len(ir.Outputs) == 0 {
		return nil, nil
	}
	err := f.memory.Build(p.built+int64(f.beyond)*beyondBytes, f.structure())
	if err != nil {
		return nil, wire.Error(formatName, "graph", f.h.Graph.Offset, err)
	}
	of := f.namer()
	g := &schema.Graph{
		Inputs:  of.values(ir.Inputs),
		Outputs: of.values(ir.Outputs),
		Nodes:   make([]schema.Node, len(ir.Nodes)),
	}
	for i := range ir.Nodes {
		from := &ir.Nodes[i]
		g.Nodes[i] = schema.Node{
			Op:      from.Op.String(),
			Inputs:  of.names(from.Inputs, from.Params),
			Outputs: of.names(from.Outputs),
		}
		if len(from.Attributes) > 0 {
			g.Nodes[i].Attributes = p.attributes[sharedKey(from.Attributes)]
		}
	}
	p.attributes = nil
	return g, nil
}

// namer returns the descriptor of an id.
type namer func(id uint32) *Descriptor

// namer finds the descriptors of the ids. If an id is no index of a descriptor, the exporter
// also numbered activations without describing them: if there are as many ids of graph inputs
// and params as descriptors, they are the ids of the descriptors, in ascending order. An id
// without descriptor has the name "value_<id>".
func (f *parsed) namer() namer {
	tensors := f.ir.Tensors
	if f.beyond == 0 {
		return func(id uint32) *Descriptor { return &tensors[id] }
	}
	ids := slices.Clone(f.ir.Inputs)
	for i := range f.ir.Nodes {
		ids = append(ids, f.ir.Nodes[i].Params...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	known := make(map[uint32]*Descriptor, len(tensors))
	taken := make(map[string]bool, len(tensors))
	for i := range tensors {
		id := uint32(i)
		if len(ids) == len(tensors) {
			id = ids[i]
		}
		known[id] = &tensors[i]
		taken[tensors[i].Name] = true
	}
	return func(id uint32) *Descriptor {
		if known[id] == nil {
			d := &Descriptor{Name: "value_" + strconv.FormatUint(uint64(id), 10)}
			for taken[d.Name] {
				d.Name += "_"
			}
			known[id] = d
			taken[d.Name] = true
		}
		return known[id]
	}
}

// names returns the names of the ids in some lists.
func (of namer) names(lists ...[]uint32) (names []string) {
	for _, list := range lists {
		names = slices.Grow(names, len(list))
		for _, id := range list {
			names = append(names, of(id).Name)
		}
	}
	return names
}

// values returns the descriptions of graph inputs or outputs.
func (of namer) values(ids []uint32) []schema.ValueInfo {
	var out []schema.ValueInfo
	for _, id := range ids {
		d := of(id)
		v := schema.ValueInfo{Name: d.Name, DType: d.DType}
		for _, size := range d.Shape {
			if size == dynamicDim {
				size = schema.DynamicDim
			}
			v.Dims = append(v.Dims, schema.Dim{Size: size})
		}
		out = append(out, v)
	}
	return out
}

// attributeValue converts numbers and plain lists to Go types that represent them
// exactly, and leaves the rest as JSON.
func attributeValue(v any) any {
	switch v := v.(type) {
	case nil:
		return json.RawMessage("null")
	case json.Number:
		x, exact := jsonmeta.Float(string(v))
		if exact {
			return x
		}
		return json.RawMessage(v)
	case json.RawMessage:
		list := listValue(v)
		if list != nil {
			return list
		}
	}
	return v
}

// listValue converts an array of integers, floats or strings to []int64, []float64 or
// []string. It returns nil for any other array.
func listValue(array json.RawMessage) any {
	var l elements
	whole := jsonmeta.Elements(array, l.add)
	switch {
	case !whole:
		return nil
	case l.texts != nil:
		return l.texts
	case l.ints != nil:
		return l.ints
	case l.floats != nil:
		return l.floats
	}
	return nil
}

// elements are those of an array, of one type.
type elements struct {
	n      int
	ints   []int64
	floats []float64
	texts  []string
}

// add adds an element. It returns false if that has another type than those before, or none of the
// three.
func (l *elements) add(raw []byte) bool {
	l.n++
	text, whole, isText := jsonmeta.Text(raw)
	if isText {
		l.texts = append(l.texts, string(text))
		return whole && len(l.texts) == l.n
	}
	i, _ := strconv.ParseInt(string(raw), 10, 64)
	if strconv.FormatInt(i, 10) == string(raw) {
		l.ints = append(l.ints, i)
		return len(l.ints) == l.n
	}
	x, exact := jsonmeta.Float(string(raw))
	if !exact {
		return false
	}
	l.floats = append(l.floats, x)
	return len(l.floats) == l.n
}

// jsonError locates an error of a JSON text that begins at offset base.
func jsonError(err error, field string, base int64) error {
	e, ok := err.(*jsonmeta.Error)
	if ok {
		base += e.Offset
	}
	return wire.Error(formatName, field, base, err)
}
