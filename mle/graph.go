package mle

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
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

// ids reads n ids and counts those without descriptor.
func (f *parsed) ids(b []byte, n int) []uint32 {
	out := make([]uint32, n)
	for k := range out {
		out[k] = binary.LittleEndian.Uint32(b[4*k:])
		if uint64(out[k]) >= uint64(len(f.ir.Tensors)) {
			f.beyond++
		}
	}
	return out
}

// readNodes reads the nodes in rows, and their attributes from offset attrsAt of the section on.
func (f *parsed) readNodes(rows []byte, attrsAt int64) error {
	le, n := binary.LittleEndian, len(rows)/nodeSize
	f.built = int64(n)*nodeBytes + int64(len(f.ir.Tensors))*descriptorBytes
	if n == 0 {
		return nil
	}
	f.ir.Nodes = make([]IRNode, n)
	f.attributes = map[shared[byte]][]schema.Attribute{}
	for i := range f.ir.Nodes {
		n, row := &f.ir.Nodes[i], rows[i*nodeSize:][:nodeSize]
		at := f.h.Graph.Offset + attrsAt - int64(len(rows)) + int64(i*nodeSize)
		n.Op = opOfCode(le.Uint16(row), f.h.Version)
		for k, list := range []*[]uint32{&n.Inputs, &n.Outputs, &n.Params} {
			count := le.Uint16(row[2+2*k:])
			if count > maxIDs {
				field := [...]string{"num_inputs", "num_outputs", "num_params"}[k]
				return corrupt(fmt.Sprintf("node %d %s", i, field), at+2+2*int64(k), "%d, there is room for %d", count, maxIDs)
			}
			*list = f.ids(row[8+4*maxIDs*k:], int(count))
			f.built += int64(count) * idBytes
		}
		from, size := int64(le.Uint32(row[nodeSize-8:])), int64(le.Uint32(row[nodeSize-4:]))
		if size == 0 {
			continue
		}
		if from < attrsAt || from+size > int64(len(f.graph)) {
			return corrupt(fmt.Sprintf("node %d attr_offset", i), at+nodeSize-8,
				"attributes from %d to %d of the graph section, they are between %d and %d", from, from+size, attrsAt, len(f.graph))
		}
		n.Attributes = f.graph[from:][:size:size]
		if err := f.readAttributes(n.Attributes, from, attrsAt); err != nil {
			return err
		}
	}
	return nil
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
func (f *parsed) readAttributes(text json.RawMessage, at, attrsAt int64) error {
	const proportion = 64
	key := sharedKey(text)
	if _, ok := f.attributes[key]; ok {
		return nil
	}
	f.overlap += int64(len(text))
	if area := int64(len(f.graph)) - attrsAt; f.overlap > proportion*area+1<<20 {
		return fail("attributes", f.h.Graph.Offset+attrsAt, format.ErrLimit, "ranges of %d bytes overlap in %d", f.overlap, area)
	}
	list, err := jsonmeta.Parse(text, jsonOptions)
	if err != nil {
		return jsonError(err, "attributes", f.h.Graph.Offset+at)
	}
	f.attributes[key] = nil
	f.built += int64(len(text)+len(list)*jsonmeta.EntryBytes) + 16*int64(bytes.Count(text, []byte{','}))
	if f.built <= f.memory.Room(f.structure()) { // otherwise neutral fails
		attributes := make([]schema.Attribute, len(list))
		for i, e := range list {
			attributes[i] = schema.Attribute{Name: e.Key, Value: attributeValue(e.Value)}
		}
		f.attributes[key] = attributes
	}
	return nil
}

// structure returns the size of the sections that the neutral graph is built from.
func (f *parsed) structure() int64 { return f.h.Graph.Size + f.h.Metadata.Size }

// neutral returns the neutral graph, nil if there are no nodes, inputs and outputs.
func (f *parsed) neutral() (*schema.Graph, error) {
	ir := &f.ir
	if len(ir.Nodes)+len(ir.Inputs)+len(ir.Outputs) == 0 {
		return nil, nil
	}
	if err := f.memory.Build(f.built+int64(f.beyond)*beyondBytes, f.structure()); err != nil {
		return nil, wire.Error(formatName, "graph", f.h.Graph.Offset, err)
	}
	of := f.namer()
	g := &schema.Graph{Inputs: of.values(ir.Inputs), Outputs: of.values(ir.Outputs), Nodes: make([]schema.Node, len(ir.Nodes))}
	for i := range ir.Nodes {
		from := &ir.Nodes[i]
		g.Nodes[i] = schema.Node{Op: from.Op.String(), Inputs: of.names(from.Inputs, from.Params), Outputs: of.names(from.Outputs)}
		if len(from.Attributes) > 0 {
			g.Nodes[i].Attributes = f.attributes[sharedKey(from.Attributes)]
		}
	}
	f.attributes = nil
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
	known, taken := make(map[uint32]*Descriptor, len(tensors)), make(map[string]bool, len(tensors))
	for i := range tensors {
		id := uint32(i)
		if len(ids) == len(tensors) {
			id = ids[i]
		}
		known[id], taken[tensors[i].Name] = &tensors[i], true
	}
	return func(id uint32) *Descriptor {
		if known[id] == nil {
			d := &Descriptor{Name: "value_" + strconv.FormatUint(uint64(id), 10)}
			for taken[d.Name] {
				d.Name += "_"
			}
			known[id], taken[d.Name] = d, true
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
		if x, ok := jsonmeta.Float(string(v)); ok {
			return x
		}
		return json.RawMessage(v)
	case json.RawMessage:
		if list := listValue(v); list != nil {
			return list
		}
	}
	return v
}

// listValue converts an array of integers, floats or strings to []int64, []float64 or
// []string. It returns nil for any other array.
func listValue(array json.RawMessage) any {
	var ints []int64
	var floats []float64
	var texts []string
	n := 0
	ok := jsonmeta.Elements(array, func(raw []byte) bool {
		n++
		if text, whole, isText := jsonmeta.Text(raw); isText && whole {
			texts = append(texts, string(text))
		} else if i, err := strconv.ParseInt(string(raw), 10, 64); err == nil && strconv.FormatInt(i, 10) == string(raw) {
			ints = append(ints, i)
		} else if x, exact := jsonmeta.Float(string(raw)); exact {
			floats = append(floats, x)
		}
		return max(len(texts), len(ints), len(floats)) == n
	})
	switch {
	case !ok || n == 0:
		return nil
	case texts != nil:
		return texts
	case ints != nil:
		return ints
	}
	return floats
}

// jsonError locates an error of a JSON text that begins at offset base.
func jsonError(err error, field string, base int64) error {
	if e, ok := err.(*jsonmeta.Error); ok {
		base += e.Offset
	}
	return wire.Error(formatName, field, base, err)
}
