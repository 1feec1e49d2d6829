package wiagraph

import (
	"bytes"
	"fmt"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Editor copies encoded messages, which must be valid, and modifies them: it inlines external data,
// or renames and removes tensors as a schema requires.
type Editor struct {
	*Schema

	// Inline returns the view of an encoded tensor, and whether its data is external. Nil leaves
	// external data where it is.
	Inline  func(raw []byte) (v tensor.View, external bool, err error)
	Inlined int64 // bytes of inlined data

	Names   map[string]string // new names of tensors, by old name
	Fresh   map[string]bool   // names that no tensor had before
	Gone    map[string]bool   // old names of removed tensors
	Retyped bool              // tensors have other types, so the types of values are unknown

	Clash   bool           // a name in Fresh is already in use
	Dropped map[string]int // fields removed, by kind; set with Gone and Retyped
	missing bool           // the message names a removed tensor
}

// idle reports whether there is nothing to modify.
func (e *Editor) idle() bool {
	return e.Inline == nil && len(e.Names)+len(e.Gone) == 0 && !e.Retyped
}

// Follow returns the valid graph with these changes, without its initializers, if it is the
// schema's then. Otherwise it returns nil, and adds what is lost with it to l.
func (e *Editor) Follow(graph []byte, p *schema.Schema, l *schema.LossList, decode func([]byte) (*schema.Graph, error)) []byte {
	// A valid message causes no errors.
	edited, _ := e.Message(make([]byte, 0, len(graph)), e.Schema.Graph, graph, 0)
	if !e.Clash {
		own, err := decode(edited)
		if err == nil && e.sameNodes(own, p.Graph) {
			return edited
		}
	}
	lost, _ := e.Kinds(e.Schema.Graph, graph, 1)
	for _, k := range lost {
		l.Native(k.Name, fmt.Errorf("%w: %d, since the graph has changed", tensor.ErrUnsupported, k.Count))
		delete(e.Dropped, k.Name)
	}
	return nil
}

// Message appends the fields of a message. name is the number of a field that names a tensor of the
// model, or 0.
func (e *Editor) Message(out []byte, m *protobuf.Message, b []byte, name protowire.Number) ([]byte, error) {
	s := protobuf.InMemory(b)
	w := s.Walk(m, s.All(), 1)
	for w.Next() {
		if w.Def != nil && !e.idle() && (w.Num == name || w.Def.Flags&protobuf.Ref != 0) {
			out = protobuf.PutBytes(out, w.Num, e.name(string(b[w.Start:w.End])))
			continue
		}
		out, w.Err = e.Field(out, m, &w.Field, b)
	}
	return out, w.Err
}

// Copy appends a field of a message in a file, which may have changed since it was checked.
func (e *Editor) Copy(out []byte, m *protobuf.Message, s *protobuf.Source, f protobuf.Field) ([]byte, error) {
	b, err := s.Bytes(f.At, f.End)
	if err != nil {
		return out, err
	}
	own := protobuf.InMemory(bytes.Clone(b))
	if err := own.Check(m, own.All(), 1); err != nil {
		return out, err
	}
	return e.Message(out, m, own.Win, 0)
}

// Field appends a field of a message in b.
func (e *Editor) Field(out []byte, m *protobuf.Message, f *protobuf.Field, b []byte) (_ []byte, err error) {
	d := m.Known(f.Num)
	value := b[f.Start:f.End]
	if d == nil || d.Message == nil || f.Typ != protowire.BytesType || e.idle() || e.Inline == nil && d.Flags&protobuf.Scope != 0 {
		return append(out, b[f.At:f.End]...), nil
	}
	if e.Retyped && d.Flags&protobuf.Typed != 0 {
		e.Dropped[d.Name]++
		return out, nil
	}
	missing := e.missing
	clash := e.Clash
	before := len(out)
	out, start := protobuf.Begin(out, f.Num)
	switch {
	case e.Inline != nil && d.Message == e.Schema.tensor():
		out, err = e.tensor(out, value)
	case m == e.Schema.Graph && f.Num == e.Initializers:
		out, err = e.Message(out, d.Message, value, e.TensorName)
	default:
		out, err = e.Message(out, d.Message, value, 0)
	}
	if err != nil {
		return nil, err
	}
	if d.Flags&protobuf.Annotation != 0 && (e.missing && !missing || e.Clash && !clash) {
		e.Dropped[d.Name]++
		e.missing = missing
		e.Clash = clash
		return out[:before], nil
	}
	return protobuf.End(out, start), nil
}

// name returns the new name of a value.
func (e *Editor) name(old string) string {
	e.missing = e.missing || e.Gone[old]
	if name, ok := e.Names[old]; ok {
		return name
	}
	e.Clash = e.Clash || e.Fresh[old]
	return old
}

// tensor appends the fields of a tensor, inlining external data.
func (e *Editor) tensor(out, b []byte) ([]byte, error) {
	v, external, err := e.Inline(b)
	if err != nil || !external {
		return append(out, b...), err
	}
	if e.Inlined += v.Info().Size; e.Inlined > MaxTensor {
		return nil, fmt.Errorf("%w: external data of %d bytes for tensors inside a graph", tensor.ErrLimit, e.Inlined)
	}
	if v, err = v.Clone(); err != nil {
		return nil, err
	}
	data, err := v.Bytes()
	if err != nil {
		return nil, err
	}
	_, rest := Split(e.Schema.tensor(), b, e.DataFields...)
	return protobuf.PutBytes(append(out, rest...), e.RawData, data), nil
}

// Split separates the fields of a message with the given numbers from the others.
func Split(m *protobuf.Message, b []byte, nums ...protowire.Number) (in, rest []byte) {
	s := protobuf.InMemory(b)
	_ = s.Split(m, s.All(), &in, &rest, nums...)
	return in, rest
}
