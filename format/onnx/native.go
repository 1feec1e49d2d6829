package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Native implements driver.Parsed: the model without the data of its tensors. Each is an
// initializer with its name, type and the fields that only ONNX has.
func (f *parsed) Native() (*schema.Native, error) {
	n := f.src.Size()
	for _, r := range f.records {
		n += 64 - (r.end - r.at)
	}
	if err := f.o.Memory.Reserve(n); err != nil {
		return nil, wire.Error(formatName, "model", -1, err)
	}
	defer f.o.Memory.Release(n)
	raw, err := f.skeleton()
	native := &schema.Native{Format: formatName, Raw: raw}
	if err == nil {
		native.Kinds, err = graphSchema.Kinds(modelMsg, raw, 0)
	}
	if d := (*protobuf.Defect)(nil); errors.As(err, &d) {
		err = wire.Error(formatName, "model", -1, d)
	}
	return native, err
}

// skeleton returns the model without data.
func (f *parsed) skeleton() (model []byte, err error) {
	s := protobuf.OpenFile(f.src, 0, f.src.Size())
	defer s.Close()
	e := onnxgraph.Editor{Schema: &graphSchema, Inline: f.inline}
	defer func() { f.o.Memory.Release(e.Inlined) }()
	var graph []byte
	w := s.Walk(modelMsg, s.All(), 1)
	for w.Next() {
		if w.Num != 7 {
			model, w.Err = e.Copy(model, modelMsg, s, w.Field)
			continue
		}
		g := s.Walk(graphMsg, w.Field, 1)
		for g.Next() {
			if g.Num != graphSchema.Initializers && g.Num != sparseInitializers {
				graph, g.Err = e.Copy(graph, graphMsg, s, g.Field)
			}
		}
		w.Err = g.Err
	}
	err = w.Err
	for i := 0; err == nil && i < len(f.records); i++ {
		graph, err = f.appendShell(graph, s, i)
	}
	return protobuf.PutBytes(model, 7, graph), err
}

// inline returns the view of a tensor inside the graph, and whether its data is external.
func (f *parsed) inline(raw []byte) (v tensor.View, external bool, err error) {
	h, s, err := headOf(raw)
	if err != nil || h.location != 1 {
		return v, false, nil
	}
	v = f.view(h, s)
	return v, true, f.o.Memory.Reserve(v.Info().Size)
}

// appendShell appends the initializer of tensor i without the fields that a schema has.
func (f *parsed) appendShell(out []byte, s *protobuf.Source, i int) ([]byte, error) {
	info := tensor.Info{DType: f.index.DType(i), Encoding: f.index.Encoding(i)}
	b := protobuf.PutBytes(protobuf.PutInt(nil, 2, int64(storageOf(&info).code)), 8, f.index.Name(i))
	if r := &f.records[i]; r.more {
		if err := s.Split(tensorMsg, protobuf.Field{Start: r.at, End: r.end}, nil, &b, schemaFields...); err != nil {
			return nil, wire.Error(formatName, fmt.Sprintf("tensor %q", f.index.Name(i)), r.at, err)
		}
	}
	return protobuf.PutBytes(out, 5, b), nil
}

// original is a schema's Native, updated to match the schema.
type original struct {
	model  model                         // by what its metadata were when it was read
	sets   map[schema.OperatorSet][]byte // the fields with operator sets; nil without a Native
	props  map[stringEntry][]byte        // and with properties
	rest   []byte                        // the native fields of the model
	graph  []byte                        // all but the initializers; nil if the schema has another
	shells map[string]shell              // by the name in the schema
}

// shell holds the fields of an initializer other than its data.
type shell struct {
	code  int32
	more  []byte // native fields
	moved bool   // it has another name
}

// originalOf reads the schema's Native, if it has one of this format, and adds what contradicts the
// schema to l.
func originalOf(p *schema.Schema, l *schema.LossList) (*original, error) {
	n := p.Native
	c := &original{}
	if n == nil || n.Format != formatName {
		return c, nil
	}
	s := protobuf.InMemory(n.Raw)
	shells := map[string]shell{}
	c.sets = map[schema.OperatorSet][]byte{}
	c.props = map[stringEntry][]byte{}
	c.shells = map[string]shell{}
	w := s.Walk(modelMsg, s.All(), 1)
	for w.Next() {
		c.model.field(s, &w)
		switch w.Num {
		case 1, 2, 3, 4, 5, 6: // of c.model
		case 7:
			c.readGraph(s, w.Field, shells)
		case 8:
			c.sets[c.model.opsets[len(c.model.opsets)-1]] = operatorSet(n.Raw[w.Start:w.End])
		case 14:
			c.props[c.model.props[len(c.model.props)-1]] = n.Raw[w.At:w.End]
		default:
			c.rest = append(c.rest, n.Raw[w.At:w.End]...)
		}
	}
	if w.Err != nil {
		return c, protobuf.InField("native", w.Err)
	}
	c.follow(p, l, shells)
	return c, nil
}

// operatorSet returns the field of an operator set, known fields first: the file is
// recognized by them.
func operatorSet(b []byte) []byte {
	known, rest := onnxgraph.Split(opsetMsg, b, 1, 2)
	if len(known) == 0 && len(rest) > 0 {
		known = protobuf.PutVarint(nil, 2, 0) // version 0, as it is without
	}
	return protobuf.PutBytes(nil, 8, append(known, rest...))
}

// readGraph takes a valid graph: its initializers by name.
func (c *original) readGraph(s *protobuf.Source, msg protobuf.Field, shells map[string]shell) {
	w := s.Walk(graphMsg, msg, 1)
	for w.Next() {
		if w.Num != graphSchema.Initializers {
			w.Err = s.Keep(&c.graph, &w.Field)
			continue
		}
		name := ""
		one := shell{}
		_ = s.Read(tensorMsg, w.Field, 2, &protobuf.Into{2: &one.code, 8: &name})
		_ = s.Split(tensorMsg, w.Field, nil, &one.more, 2, 8)
		shells[name] = one
	}
}

// follow updates everything to match the tensors of the schema.
func (c *original) follow(p *schema.Schema, l *schema.LossList, shells map[string]shell) {
	e := onnxgraph.Editor{
		Schema:  &graphSchema,
		Names:   map[string]string{},
		Fresh:   map[string]bool{},
		Gone:    map[string]bool{},
		Dropped: map[string]int{},
	}
	for name := range shells {
		e.Gone[name] = true
	}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		old := cmp.Or(p.Native.Renamed[t.Name], t.Name)
		one, there := shells[old]
		if !there {
			continue // a tensor that the file did not have
		}
		delete(e.Gone, old)
		if one.moved = old != t.Name; one.moved {
			e.Names[old] = t.Name
			_, taken := shells[t.Name]
			e.Fresh[t.Name] = !taken
		}
		e.Retyped = e.Retyped || one.code != storageOf(t).code
		c.shells[t.Name] = one
	}
	for _, v := range cmp.Or(p.Graph, &schema.Graph{}).Inputs { // such a tensor was a default
		delete(e.Gone, v.Name)
	}
	// originalOf checked it.
	c.rest, _ = e.Message(nil, modelMsg, c.rest, 0)
	c.graph = e.Follow(c.graph, p, l, decodeGraph)
	for _, kind := range []string{"value_info", "quantization_annotation", "training_info"} {
		if n := e.Dropped[kind]; n > 0 {
			l.Native(kind, fmt.Errorf("%w: %d of tensors that are gone or have another type", tensor.ErrUnsupported, n))
		}
	}
}

// mayImport reports whether a file imports the operators of a domain, or there is no file.
func (c *original) mayImport(domain string) bool {
	return c.sets == nil || slices.ContainsFunc(c.model.opsets, func(o schema.OperatorSet) bool { return o.Domain == domain })
}

// check returns an error for a listed tensor that is not copied from an ONNX file: its bytes have
// no meaning elsewhere.
func (c *original) check(t *tensor.Info) error {
	switch as := storageOf(t); {
	case codeOfTensor(t) != 0:
		return nil
	case as.code == 0 || c.shells[t.Name].code != as.code:
		return fmt.Errorf("%w: the format has no %s", tensor.ErrUnsupported, t.TypeName())
	case as.code == sparseCode && c.shells[t.Name].moved:
		return fmt.Errorf("%w: a sparse tensor keeps its name", tensor.ErrUnsupported)
	}
	return nil
}

// isProperty reports whether the file has metadata_props with the name of a field that it lacks.
func (c *original) isProperty(num int) bool {
	return c.model.fields[num] == nil && slices.ContainsFunc(c.model.props, func(e stringEntry) bool { return e.key == modelKeys[num] })
}
