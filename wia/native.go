package wia

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wiagraph"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// native returns what a schema cannot hold.
func (f *parsed) native() (*schema.Native, error) {
	meta := &f.payloads[metadataBlock]
	block := &f.payloads[tensorBlock]
	n := f.graph().Size + meta.Size + 64*int64(len(f.records))
	if err := f.memory.Reserve(n); err != nil {
		return nil, wire.Error(formatName, "graph", -1, err)
	}
	defer f.memory.Release(n)
	raw, err := f.nativeGraph()
	for i := 0; i < len(f.records) && err == nil; i++ {
		if f.records[i].more {
			var message, around []byte
			message, around, err = f.tensorMessage(i)
			raw = protobuf.PutBytes(raw, 2, append(protobuf.PutBytes(nil, 1, message), around...))
		}
	}
	if f.tail && err == nil {
		var tail []byte
		s := f.reader(block)
		defer s.Close()
		err = block.locate("tensor", s.Split(tensorDataMsg, s.All(), nil, &tail, 1, 2, 15))
		raw = protobuf.PutBytes(raw, 3, tail)
	}
	if err != nil {
		return nil, err
	}
	_, unknown := wiagraph.Split(signatureBlockMsg, f.payloads[signatureBlock].Win, 1, 2, 15)
	raw = protobuf.PutBytes(protobuf.PutBytes(raw, 4, unknown), 5, meta.Win)
	// All parts of it were checked.
	list, _ := graphSchema.Kinds(nativeMsg, raw, 0)
	return &schema.Native{Format: formatName, Kinds: list, Raw: raw}, nil
}

// nativeGraph returns the graph as a field of nativeMsg, nil if there is none.
func (f *parsed) nativeGraph() ([]byte, error) {
	g := f.graph()
	if g.Size == 0 {
		return nil, nil
	}
	e := wiagraph.Editor{Schema: &graphSchema, Inline: f.inline}
	raw, start := protobuf.Begin(nil, 1)
	w := g.Walk(graphMsg, g.All(), 1)
	for w.Next() {
		if w.Num == graphSchema.Initializers {
			_, rest := wiagraph.Split(tensorMsg, g.Win[w.Start:w.End], graphSchema.DataFields...)
			raw = protobuf.PutBytes(raw, w.Num, rest)
			continue
		}
		raw, w.Err = e.Field(raw, graphMsg, &w.Field, g.Win)
	}
	if w.Err != nil {
		return nil, g.locate("graph", w.Err)
	}
	return protobuf.End(raw, start), nil
}

// inline returns the view of a tensor inside the graph if its data is external.
func (f *parsed) inline(raw []byte) (v tensor.View, external bool, err error) {
	h := newHead()
	s := protobuf.InMemory(raw)
	if h.read(s, s.All(), 3) != nil || h.data != externalArm || h.check(0) != nil {
		return v, false, nil
	}
	v, err = f.view(h, s)
	return v, true, err
}

// tensorMessage returns the Tensor message of tensor i without its data, in
// private memory, and the unknown fields of the CompressedTensor around it. It
// checks the message again, since the file may have changed.
func (f *parsed) tensorMessage(i int) (b, around []byte, err error) {
	r := &f.records[i]
	p := f.payloadOf(i)
	s := f.reader(p)
	msg := protobuf.Field{Start: r.at, End: r.end}
	defer s.Close()
	if r.compressed {
		err = s.SplitInner(compressedMsg, msg, 1, &b, rawArm)
		err = cmp.Or(err, s.Split(compressedMsg, msg, nil, &around, 1, 2, 3, 4))
	} else {
		err = s.Split(tensorMsg, msg, nil, &b, rawArm)
	}
	name := ""
	own := protobuf.InMemory(b)
	err = cmp.Or(err, own.Read(tensorMsg, own.All(), 2, &protobuf.Into{1: &name}))
	if err == nil && name != f.index.Name(i) {
		err = protobuf.Corruptf("", r.at, "the file has changed since it was opened")
	}
	return b, around, p.locate(fmt.Sprintf("tensor %q", f.index.Name(i)), err)
}

// original is the decoded Native of a schema, updated to match the schema.
type original struct {
	graph     []byte          // without its initializers; nil if the schema has another
	tensors   map[string]rest // by the name in the schema
	tail      []byte          // unknown fields of the tensor block
	signature []byte          // unknown fields of the signature block
	metadata  []byte          // nil if the schema has other metadata
}

// rest has the fields of the messages of a tensor that a schema does not hold.
type rest struct {
	tensor     []byte // metadata and unknown fields
	declared   []byte // of its initializer
	external   []byte // unknown fields of ExternalData
	compressed []byte // unknown fields of CompressedTensor
}

// originalOf decodes the schema's Native, if it has one of this format, and adds what contradicts
// the schema to l.
func originalOf(p *schema.Schema, l *schema.LossList) *original {
	n := p.Native
	o := &original{tensors: map[string]rest{}}
	if n == nil || n.Format != formatName {
		return o
	}
	s := protobuf.InMemory(n.Raw)
	var graph protobuf.Field
	if err := s.Check(nativeMsg, s.All(), 0); err != nil {
		l.Native("", protobuf.InField("native", err))
		return o
	}
	_ = s.Read(nativeMsg, s.All(), 0, &protobuf.Into{1: &graph, 3: &o.tail, 4: &o.signature, 5: &o.metadata})
	if !isText(o.metadata, p.Metadata) {
		o.metadata = nil
	}
	e := wiagraph.Editor{Schema: &graphSchema, Names: map[string]string{}}
	for name, old := range n.Renamed {
		e.Names[old] = name
	}
	split := func(msg protobuf.Field) (name string, r rest) {
		_ = s.Read(tensorMsg, msg, 1, &protobuf.Into{1: &name})
		_ = s.Split(tensorMsg, msg, nil, &r.tensor, 1, 2, 3, rawArm, externalArm)
		_ = s.SplitInner(tensorMsg, msg, externalArm, &r.external, 1, 2, 3, 4)
		return cmp.Or(e.Names[name], name), r
	}
	w := s.Walk(nativeMsg, s.All(), 1)
	for w.Next() {
		if w.Num == 2 {
			var message protobuf.Field
			_ = s.Read(compressedMsg, w.Field, 1, &protobuf.Into{1: &message})
			name, r := split(message)
			_ = s.Split(compressedMsg, w.Field, nil, &r.compressed, 1)
			o.tensors[name] = r
		}
	}
	w = s.Walk(graphMsg, graph, 1)
	for w.Next() {
		if w.Num == graphSchema.Initializers {
			name, declared := split(w.Field)
			r := o.tensors[name]
			r.declared = declared.tensor
			o.tensors[name] = r
		}
	}
	if graph.Num != 0 {
		_, own := wiagraph.Split(graphMsg, n.Raw[graph.Start:graph.End], graphSchema.Initializers)
		o.graph = e.Follow(own, p, l, func(b []byte) (*schema.Graph, error) { return graphOf(b, p.Tensors) })
	}
	return o
}

// isText reports whether b is a JSON text of m.
func isText(b []byte, m schema.Metadata) bool {
	parsed, err := jsonmeta.Parse(b, jsonmeta.Options{})
	own, failed := jsonmeta.Marshal(parsed, jsonmeta.Options{})
	other, refused := jsonmeta.Marshal(m, jsonmeta.Options{})
	return cmp.Or(err, failed, refused) == nil && bytes.Equal(own, other)
}

// quantizes reports whether the fields have the quantization of info, valid or not.
func (r *rest) quantizes(info *tensor.Info) bool {
	if len(r.tensor) == 0 {
		return info.Quant == nil
	}
	h := newHead()
	s := protobuf.InMemory(r.tensor)
	return h.read(s, s.All(), 2) == nil && h.quant.quantization().Equal(info.Quant)
}

// fields returns the remaining fields of a tensor's message, with the quantization of the schema.
func (r *rest) fields(info *tensor.Info) []byte {
	if r.quantizes(info) {
		return r.tensor
	}
	quant, _ := quantField(info) // Losses checked it; only a copy keeps invalid parameters
	var metadata, unknown []byte
	s := protobuf.InMemory(r.tensor)
	_ = s.SplitInner(tensorMsg, s.All(), 6, &metadata, 3)
	_ = s.Split(tensorMsg, s.All(), nil, &unknown, 6)
	if metadata = append(metadata, quant...); len(metadata) > 0 {
		return append(protobuf.PutBytes(nil, 6, metadata), unknown...)
	}
	return unknown
}
