package onnx

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
)

// carried is what a plan's Native adds to it: the messages of the file that the plan is of,
// as far as the plan still says the same.
type carried struct {
	model   model
	entries map[opset][]byte       // opset_import, as the file has it
	props   map[stringEntry][]byte // metadata_props, likewise
	rest    []byte                 // the fields of the model that are native
	graph   []byte                 // all but the initializers; it is the plan's only if same
	same    bool
	shells  map[string]shell // by the name in the plan
	lost    []driver.Loss
}

// shell is what a file says of a tensor beyond its data.
type shell struct {
	code  int32
	more  []byte // native fields
	moved bool   // it has another name
}

// carry reads the plan's Native, nil for one without.
func carry(p *driver.Plan) (*carried, error) {
	n := p.Native
	if n == nil || n.Format != formatName {
		return nil, nil
	}
	s := protobuf.InMemory(n.Raw)
	if err := s.Check(modelMsg, 0, s.Size, 1); err != nil {
		return nil, protobuf.InField("native", err)
	}
	c := &carried{entries: map[opset][]byte{}, props: map[stringEntry][]byte{}, shells: map[string]shell{}}
	if err := s.Merge(modelMsg, &c.model, protobuf.Field{End: s.Size}); err != nil {
		return nil, err
	}
	shells := map[string]shell{}
	var rest []byte
	err := s.Each(modelMsg, protobuf.Field{End: s.Size}, func(f protobuf.Field) error {
		switch b := n.Raw[f.At:f.End]; {
		case f.Num == 7:
			return c.split(s, f, shells)
		case f.Num == 8:
			return c.opset(s, f)
		case f.Num == 14:
			var e stringEntry
			err := s.Merge(entryMsg, &e, f)
			c.props[e] = b
			return err
		case otherwise[modelMsg]&(1<<f.Num) == 0:
			rest = append(rest, b...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, c.follow(p, shells, rest)
}

// opset takes an operator set, known fields first: the file is recognized by them.
func (c *carried) opset(s *protobuf.Source, msg protobuf.Field) error {
	var o opset
	if err := s.Merge(opsetMsg, &o, msg); err != nil {
		return err
	}
	var known, unknown []byte
	err := s.Each(opsetMsg, msg, func(f protobuf.Field) error {
		if opsetMsg.Known(f.Num) == nil {
			return s.Keep(&unknown, &f)
		}
		return s.Keep(&known, &f)
	})
	if len(known) == 0 && len(unknown) > 0 {
		known = []byte{2 << 3, 0} // version 0, as it is without
	}
	c.entries[o] = protobuf.PutBytes(nil, 8, append(known, unknown...))
	return err
}

// split takes the graph apart.
func (c *carried) split(s *protobuf.Source, graph protobuf.Field, shells map[string]shell) error {
	return s.Each(graphMsg, graph, func(f protobuf.Field) error {
		if f.Num != 5 {
			return s.Keep(&c.graph, &f)
		}
		var one shell
		var name string
		err := s.Each(tensorMsg, f, func(f protobuf.Field) error {
			switch f.Num {
			case 2:
				one.code = int32(f.Val)
			case 8:
				return s.Str(&name, &f)
			default:
				return s.Keep(&one.more, &f)
			}
			return nil
		})
		shells[name] = one
		return err
	})
}

// follow brings everything in line with the tensors of the plan.
func (c *carried) follow(p *driver.Plan, shells map[string]shell, rest []byte) (err error) {
	e := editor{names: map[string]string{}, fresh: map[string]bool{}, gone: map[string]bool{}}
	left := map[string]bool{}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		old, moved := p.Native.Renamed[t.Name]
		if !moved {
			old = t.Name
		}
		left[old] = true
		one, there := shells[old]
		if !there {
			continue // a tensor that the file did not have
		}
		if one.moved = old != t.Name; one.moved {
			e.names[old] = t.Name
			if _, taken := shells[t.Name]; !taken {
				e.fresh[t.Name] = true
			}
		}
		e.retyped = e.retyped || one.code != storageOf(t).code
		c.shells[t.Name] = one
	}
	for name := range shells {
		if !left[name] {
			e.gone[name] = true
		}
	}
	if p.Graph != nil {
		for _, v := range p.Graph.Inputs { // such a tensor was a default
			delete(e.gone, v.Name)
		}
	}
	original := c.graph
	if c.rest, err = e.message(nil, modelMsg, rest); err == nil {
		c.graph, err = e.message(nil, graphMsg, original)
	}
	if err != nil {
		return err
	}
	if c.same = !e.clash && c.equals(p.Graph); !c.same {
		list, err := graphSchema.Kinds(otherwise, graphMsg, original, 1)
		for _, k := range list {
			c.lose(k.Name, "%d, and the graph is another", k.Count)
			delete(e.dropped, k.Name)
		}
		if err != nil {
			return err
		}
	}
	for _, kind := range []string{"value_info", "quantization_annotation", "training_info"} {
		if n := e.dropped[kind]; n > 0 {
			c.lose(kind, "%d of tensors that are gone or have another type", n)
		}
	}
	return nil
}

func (c *carried) lose(kind, text string, args ...any) {
	c.lost = append(c.lost, driver.Loss{Kind: driver.LossNative, Name: kind, Why: fmt.Sprintf(text, args...)})
}

// equals reports whether a graph is that of the file.
func (c *carried) equals(g *driver.Graph) bool {
	f := &parsed{index: &driver.Index{}}
	f.graph.Source = *protobuf.InMemory(c.graph)
	r := onnxgraph.Reader{Schema: &graphSchema, Source: &f.graph.Source, Tensor: f.attributeView}
	own, err := r.Read(protobuf.Field{End: f.graph.Size})
	if err != nil {
		return false
	}
	if g == nil {
		return len(own.Nodes)+len(own.Inputs)+len(own.Outputs) == 0
	}
	plan := *g
	plan.Initializers = nil // all tensors
	return onnxgraph.Equal(own, &plan)
}

// eachInner calls f for the graphs in the attributes of nodes.
func eachInner(g *driver.Graph, f func(*driver.Graph)) {
	for i := range g.Nodes {
		for _, a := range g.Nodes[i].Attributes {
			switch v := a.Value.(type) {
			case *driver.Graph:
				if v != nil {
					f(v)
				}
			case []*driver.Graph:
				for _, sub := range v {
					f(sub)
				}
			}
		}
	}
}

// imports reports whether the file imports the operators of a domain.
func (c *carried) imports(domain string) bool {
	return slices.ContainsFunc(c.model.opsets, func(o opset) bool { return o.domain == domain })
}

// check says why a tensor that is only listed cannot be written: its bytes mean something in
// a copy alone.
func (c *carried) check(t *tensor.Info) error {
	switch kept := storageOf(t); {
	case codeOfTensor(t) != 0:
		return nil
	case c == nil || kept.code == 0 || c.shells[t.Name].code != kept.code:
		return fmt.Errorf("%w: the format has no %s", format.ErrUnsupported, t.TypeName())
	case kept.form == asSparse && c.shells[t.Name].moved:
		return fmt.Errorf("%w: a sparse tensor keeps its name", format.ErrUnsupported)
	}
	return nil
}

// graphBytes returns what comes before and after the initializers.
func (c *carried) graphBytes() (before, after []byte) {
	s := protobuf.InMemory(c.graph)
	_ = s.Each(graphMsg, protobuf.Field{End: s.Size}, func(f protobuf.Field) error {
		if f.Num == graphSchema.Inputs || f.Num == graphSchema.Outputs {
			return s.Keep(&after, &f)
		}
		return s.Keep(&before, &f)
	})
	return before, after
}

// isProperty reports whether the file has metadata_props with the name of a field that it lacks.
func (c *carried) isProperty(key string) bool {
	if c == nil {
		return false
	}
	h := header{model: c.model}
	return *h.text(key) == nil && slices.ContainsFunc(c.model.props, func(e stringEntry) bool { return e.key == key })
}

// front is the model without its graph. Operator sets come first, so that the file is
// recognized whatever the texts are.
func (c *carried) front(m *model) []byte {
	b := modelMsg.Append(nil, &model{irVersion: m.irVersion})
	for _, o := range m.opsets {
		if c != nil && c.entries[o] != nil {
			b = append(b, c.entries[o]...)
			continue
		}
		b = protobuf.PutMessage(b, 8, opsetMsg, &o)
	}
	b = append(b, modelMsg.Append(nil, &model{producer: m.producer, producerVersion: m.producerVersion, domain: m.domain, modelVersion: m.modelVersion, doc: m.doc})...)
	for _, e := range m.props {
		if c != nil && c.props[e] != nil {
			b = append(b, c.props[e]...)
			continue
		}
		b = protobuf.PutMessage(b, 14, entryMsg, &e)
	}
	if c != nil {
		b = append(b, c.rest...)
	}
	return b
}
