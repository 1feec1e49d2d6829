package wia

import (
	"bytes"
	"fmt"

	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// planFields are the fields of a Tensor that a plan holds too, and those of its data.
var planFields = onnxgraph.Bits(1, 2, 3, rawArm, externalArm)

// native returns what a plan cannot hold. It leaves out the CompressedTensor
// around a compressed tensor, since the writer chooses the compression.
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
		if !f.records[i].more {
			continue
		}
		message, err := f.tensorMessage(i)
		if err != nil {
			return nil, err
		}
		_, more := onnxgraph.Split(tensorMsg, message, planFields)
		raw = protobuf.PutBytes(raw, 2, append(protobuf.PutText(nil, 1, f.index.Name(i)), more...))
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
	list, err := graphSchema.Kinds(nativeMsg, raw, 0)
	if err != nil {
		return nil, wire.Error(formatName, "graph", -1, err)
	}
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
	err := g.Each(graphMsg, g.All(), func(fl protobuf.Field) (err error) {
		if fl.Num == graphSchema.Initializers {
			_, rest := onnxgraph.Split(tensorMsg, g.Win[fl.Start:fl.End], graphSchema.DataFields)
			raw = protobuf.PutBytes(raw, fl.Num, rest)
			return nil
		}
		raw, err = e.Field(raw, graphMsg, &fl, g.Win)
		return err
	})
	if err != nil {
		return nil, g.locate("graph", err)
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
	err = s.Each(tensorDataMsg, s.All(), func(fl protobuf.Field) error {
		if tensorDataMsg.Known(fl.Num) != nil {
			return nil
		}
		return s.Keep(&b, &fl)
	})
	return b, p.locate("tensor", err)
}

// tensorMessage returns the Tensor message of tensor i without its data, in
// private memory. It checks the message again, since the file may have changed.
func (f *parsed) tensorMessage(i int) (b []byte, err error) {
	r, p := &f.records[i], f.payloadOf(i)
	s, msg := f.reader(p), protobuf.Field{Start: r.at, End: r.end}
	defer s.Close()
	keep := func(msg protobuf.Field) error {
		return s.Each(tensorMsg, msg, func(fl protobuf.Field) error {
			if fl.Num == rawArm {
				return nil
			}
			return s.Keep(&b, &fl)
		})
	}
	if r.compressed {
		err = s.Each(compressedMsg, msg, func(fl protobuf.Field) error {
			if fl.Num == 1 && fl.Typ == protowire.BytesType {
				return keep(fl)
			}
			return nil
		})
	} else {
		err = keep(msg)
	}
	own := protobuf.InMemory(b)
	if err == nil {
		err = own.Check(tensorMsg, own.All(), 2)
	}
	if err == nil {
		name, _ := own.Last(tensorMsg, own.All(), 1)
		if string(name) != f.index.Name(i) {
			err = protobuf.Defectf(r.at, tensor.ErrCorrupt, "the file has changed since it was opened")
		}
	}
	return b, p.locate(fmt.Sprintf("tensor %q", f.index.Name(i)), err)
}

// original is the decoded Native of a plan, updated to match the plan.
type original struct {
	graph     []byte            // without its initializers; nil if the plan has another
	lost      []plan.NativeKind // lost if the plan has another graph
	declared  map[string][]byte // metadata and unknown fields of initializers, by the name in the plan
	tensors   map[string][]byte // and of tensors
	tail      []byte            // unknown fields of the tensor block
	signature []byte            // unknown fields of the signature block
	metadata  []byte            // nil if the plan has other metadata
}

// originalOf decodes the plan's Native, if it has one of this format.
func originalOf(p *plan.Plan) (*original, error) {
	n, o := p.Native, &original{declared: map[string][]byte{}, tensors: map[string][]byte{}}
	if n == nil || n.Format != formatName {
		return o, nil
	}
	s := protobuf.InMemory(n.Raw)
	if err := s.Check(nativeMsg, s.All(), 0); err != nil {
		return o, protobuf.InField("native", err)
	}
	e := onnxgraph.Editor{Schema: &graphSchema, Names: map[string]string{}}
	for name, old := range n.Renamed {
		e.Names[old] = name
	}
	err := s.Each(nativeMsg, s.All(), func(f protobuf.Field) (err error) {
		switch b := n.Raw[f.Start:f.End]; f.Num {
		case 1:
			lists, graph := onnxgraph.Split(graphMsg, b, onnxgraph.Bits(graphSchema.Initializers))
			if err = keep(o.declared, &e, graphMsg, lists); err == nil {
				decode := func(b []byte) (*plan.Graph, error) { return graphOf(b, p.Tensors) }
				o.graph, o.lost, err = e.Follow(graph, p.Graph, decode)
			}
		case 2:
			err = keep(o.tensors, &e, nativeMsg, n.Raw[f.At:f.End])
		case 3:
			o.tail = b
		case 4:
			o.signature = b
		case 5:
			if isText(b, p.Metadata) {
				o.metadata = b
			}
		}
		return err
	})
	return o, err
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
// the plan.
func keep(into map[string][]byte, e *onnxgraph.Editor, m *protobuf.Message, b []byte) error {
	s := protobuf.InMemory(b)
	return s.Each(m, s.All(), func(f protobuf.Field) error {
		last, err := s.Last(tensorMsg, f, 1)
		name := string(last)
		if now, ok := e.Names[name]; ok {
			name = now
		}
		_, into[name] = onnxgraph.Split(tensorMsg, b[f.Start:f.End], planFields)
		return err
	})
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
	metadata, unknown := onnxgraph.Split(tensorMsg, own, onnxgraph.Bits(6))
	var body []byte
	s := protobuf.InMemory(metadata)
	_ = s.Each(tensorMsg, s.All(), func(f protobuf.Field) error {
		_, rest := onnxgraph.Split(messages["TensorMetadata"], metadata[f.Start:f.End], onnxgraph.Bits(3))
		body = append(body, rest...)
		return nil
	})
	if quant != nil {
		body = protobuf.PutBytes(body, 3, quant)
	}
	if len(metadata) > 0 || quant != nil {
		unknown = append(protobuf.PutBytes(nil, 6, body), unknown...)
	}
	return unknown
}
