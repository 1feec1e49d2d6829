package wia

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// native returns what a plan cannot hold.
func (f *parsed) native() (*plan.Native, error) {
	meta := &f.payloads[metadataBlock]
	n := f.graph().Size + meta.Size + 64*int64(len(f.records))
	if err := f.memory.Reserve(n); err != nil {
		return nil, wire.Error(formatName, "graph", -1, err)
	}
	defer f.memory.Release(n)
	raw, err := f.nativeGraph()
	if err != nil {
		return nil, err
	}
	for i := range f.records {
		r := &f.records[i]
		if !r.more && !r.compressed && r.external < 0 {
			continue
		}
		message, around, err := f.tensorMessage(i)
		if err != nil {
			return nil, err
		}
		_, more := onnxgraph.Split(tensorMsg, message, planFields...)
		more = append(more, unknownExternal(message)...)
		if len(more)+len(around) > 0 {
			t := protobuf.PutBytes(nil, 1, append(protobuf.PutText(nil, 1, f.index.Name(i)), more...))
			raw = protobuf.PutBytes(raw, 2, append(t, around...))
		}
	}
	tail, err := f.unknownTail()
	if err != nil {
		return nil, err
	}
	raw = protobuf.PutBytes(raw, 3, tail)
	if f.signature != nil {
		raw = protobuf.PutBytes(raw, 4, f.signature.unknown)
	}
	if meta.Size > 0 {
		raw = protobuf.PutBytes(raw, 5, meta.Win)
	}
	// All parts of it were checked.
	list, _ := graphSchema.Kinds(nativeMsg, raw, 0)
	return &plan.Native{Format: formatName, Kinds: list, Raw: raw}, nil
}

// nativeGraph returns the graph as a field of nativeMsg, nil if there is none.
func (f *parsed) nativeGraph() ([]byte, error) {
	g := f.graph()
	if g.Size == 0 {
		return nil, nil
	}
	e := onnxgraph.Editor{Schema: &graphSchema, Inline: f.inline}
	raw, start := protobuf.Begin(nil, 1)
	w := g.Walk(graphMsg, g.All(), 1)
	for w.Next() {
		if w.Num == graphSchema.Initializers {
			_, rest := onnxgraph.Split(tensorMsg, g.Win[w.Start:w.End], graphSchema.DataFields...)
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
	h, s := &head{}, protobuf.InMemory(raw)
	if h.read(s, s.All(), 3) != nil || h.data != externalArm || h.check(0) != nil {
		return v, false, nil
	}
	v, err = f.view(h, s, &quantMemory{})
	return v, true, err
}

// unknownTail returns the unknown fields of the tensor block.
func (f *parsed) unknownTail() (b []byte, err error) {
	if !f.tail {
		return nil, nil
	}
	p := &f.payloads[tensorBlock]
	s := f.reader(p)
	defer s.Close()
	err = s.Split(tensorDataMsg, s.All(), nil, &b, 1, 2, 15)
	return b, p.locate("tensor", err)
}

// unknownExternal returns the field of external data in a Tensor message with its unknown fields alone, nil if
// it has none.
func unknownExternal(message []byte) (b []byte) {
	s := protobuf.InMemory(message)
	_ = s.SplitInner(tensorMsg, s.All(), externalArm, &b, 1, 2, 3, 4)
	if b != nil {
		b = protobuf.PutBytes(nil, externalArm, b)
	}
	return b
}

// tensorMessage returns the Tensor message of tensor i without its data, in
// private memory, and the unknown fields of the CompressedTensor around it. It
// checks the message again, since the file may have changed.
func (f *parsed) tensorMessage(i int) (b, around []byte, err error) {
	r, p := &f.records[i], f.payloadOf(i)
	s, msg := f.reader(p), protobuf.Field{Start: r.at, End: r.end}
	defer s.Close()
	if r.compressed {
		if err = s.SplitInner(compressedMsg, msg, 1, &b, rawArm); err == nil {
			err = s.Split(compressedMsg, msg, nil, &around, 1, 2, 3, 4)
		}
	} else {
		err = s.Split(tensorMsg, msg, nil, &b, rawArm)
	}
	name, own := "", protobuf.InMemory(b)
	if err == nil {
		err = own.Read(tensorMsg, own.All(), 2, &protobuf.Into{1: &name})
	}
	if err == nil && name != f.index.Name(i) {
		err = protobuf.Corruptf("", r.at, "the file has changed since it was opened")
	}
	return b, around, p.locate(fmt.Sprintf("tensor %q", f.index.Name(i)), err)
}

// original is the decoded Native of a plan, updated to match the plan.
type original struct {
	graph     []byte            // without its initializers; nil if the plan has another
	declared  map[string][]byte // metadata and unknown fields of initializers, by the name in the plan
	tensors   map[string][]byte // and of tensors; unknown fields of their external data
	around    map[string][]byte // and of the CompressedTensors around them
	tail      []byte            // unknown fields of the tensor block
	signature []byte            // unknown fields of the signature block
	metadata  []byte            // nil if the plan has other metadata
}

// originalOf decodes the plan's Native, if it has one of this format, and adds what contradicts the plan to l.
func originalOf(p *plan.Plan, l *plan.LossList) (*original, error) {
	n, o := p.Native, &original{declared: map[string][]byte{}, tensors: map[string][]byte{}, around: map[string][]byte{}}
	if n == nil || n.Format != formatName {
		return o, nil
	}
	s := protobuf.InMemory(n.Raw)
	var graph protobuf.Field
	if err := s.Check(nativeMsg, s.All(), 0); err != nil {
		return o, protobuf.InField("native", err)
	}
	_ = s.Read(nativeMsg, s.All(), 0, &protobuf.Into{1: &graph, 3: &o.tail, 4: &o.signature, 5: &o.metadata})
	if !isText(o.metadata, p.Metadata) {
		o.metadata = nil
	}
	e := onnxgraph.Editor{Schema: &graphSchema, Names: map[string]string{}}
	for name, old := range n.Renamed {
		e.Names[old] = name
	}
	w := s.Walk(nativeMsg, s.All(), 1)
	for w.Next() {
		if w.Num == 2 {
			t, around := onnxgraph.Split(compressedMsg, n.Raw[w.Start:w.End], 1)
			o.around[keep(o.tensors, &e, compressedMsg, t)] = around
		}
	}
	declared, rest := onnxgraph.Split(graphMsg, n.Raw[graph.Start:graph.End], graphSchema.Initializers)
	keep(o.declared, &e, graphMsg, declared)
	if graph.Num != 0 {
		decode := func(b []byte) (*plan.Graph, error) { return graphOf(b, p.Tensors) }
		o.graph = e.Follow(rest, p, l, decode)
	}
	return o, nil
}

// isText reports whether b is a JSON text of m.
func isText(b []byte, m plan.Metadata) bool {
	parsed, err := jsonmeta.Parse(b, jsonmeta.Options{})
	if err != nil {
		return false
	}
	own, err := jsonmeta.Marshal(parsed, jsonmeta.Options{})
	other, differs := jsonmeta.Marshal(m, jsonmeta.Options{})
	return err == nil && differs == nil && bytes.Equal(own, other)
}

// keep stores the fields of the tensors in message b that a plan does not hold, by their names in
// the plan. It returns the last name.
func keep(into map[string][]byte, e *onnxgraph.Editor, m *protobuf.Message, b []byte) (name string) {
	s := protobuf.InMemory(b)
	w := s.Walk(m, s.All(), 1)
	for w.Next() {
		name = ""
		w.Err = s.Read(tensorMsg, w.Field, 1, &protobuf.Into{1: &name})
		name = cmp.Or(e.Names[name], name)
		_, into[name] = onnxgraph.Split(tensorMsg, b[w.Start:w.End], 1, 2, 3)
	}
	return name
}

// quantizes reports whether the original has the quantization of info, valid or not.
func (o *original) quantizes(info *tensor.Info) bool {
	if o.tensors[info.Name] == nil {
		return false
	}
	h, s := &head{}, protobuf.InMemory(o.tensors[info.Name])
	return h.read(s, s.All(), 2) == nil && h.quant.quantization(&quantMemory{}).Equal(info.Quant)
}

// fields returns the remaining fields of a tensor's message: those of the
// original, with the quantization of the plan.
func (o *original) fields(info *tensor.Info, quant []byte) []byte {
	own := o.tensors[info.Name]
	switch {
	case own == nil:
		return metadataField(quant)
	case o.quantizes(info):
		return own
	}
	metadata, unknown := onnxgraph.Split(tensorMsg, own, 6)
	var body []byte
	s := protobuf.InMemory(metadata)
	_ = s.SplitInner(tensorMsg, s.All(), 6, &body, 3)
	if quant != nil {
		body = protobuf.PutBytes(body, 3, quant)
	}
	if len(metadata) > 0 || quant != nil {
		unknown = append(protobuf.PutBytes(nil, 6, body), unknown...)
	}
	return unknown
}
