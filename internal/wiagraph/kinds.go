package wiagraph

import (
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/protobuf"
	"google.golang.org/protobuf/encoding/protowire"
)

// The kinds that do not have the name of a field.
const (
	unknownFields        = "unknown_fields"
	subgraphInitializers = "subgraph_initializers"
)

// Kinds lists the native fields of a valid message by kind. level is 0 for a message that contains
// a graph, 1 for a graph.
func (sc *Schema) Kinds(m *protobuf.Message, b []byte, level int) ([]schema.NativeKind, error) {
	k := kinds{}
	s := protobuf.InMemory(b)
	err := k.fields(sc, m, s, s.All(), make([]byte, 0, 1<<10), level)
	var out []schema.NativeKind
	for _, name := range slices.Sorted(maps.Keys(k)) {
		out = append(out, *k[name])
	}
	return out, err
}

type kinds map[string]*schema.NativeKind

// fields adds the native fields of a message. place is its path: field numbers, with an index for
// repeated fields.
func (k kinds) fields(sc *Schema, m *protobuf.Message, s *protobuf.Source, msg protobuf.Field, place []byte, level int) error {
	var counts [32]uint64 // element 0 counts unknown fields, whose order is significant
	w := s.Walk(m, msg, 1)
	for w.Next() {
		d := w.Def
		n := &counts[0]
		if d != nil {
			n = &counts[w.Num]
		}
		*n++
		here := protowire.AppendVarint(protowire.AppendVarint(place, uint64(w.Num)), *n)
		initializer := m == sc.Graph && w.Num == sc.Initializers
		switch {
		case d == nil && w.IsOurs():
		case d == nil:
			k.add(unknownFields, s.Win[w.At:w.End], here)
		case d.Flags&protobuf.Native != 0:
			k.add(d.Name, s.Win[w.At:w.End], here)
		case initializer && level > 1:
			k.add(subgraphInitializers, s.Win[w.At:w.End], here)
		case d.Message != nil:
			if initializer { // they may be reordered
				name := ""
				to := protobuf.Into{}
				to[sc.TensorName] = &name
				w.Err = s.Read(d.Message, w.Field, 1, &to)
				here = append(here[:len(place)], name...)
			}
			if w.Err == nil {
				w.Err = k.fields(sc, d.Message, s, w.Field, here, level+1)
			}
		}
	}
	return w.Err
}

// add counts a field.
func (k kinds) add(name string, field, place []byte) {
	one := k[name]
	if one == nil {
		one = &schema.NativeKind{Name: name}
		k[name] = one
	}
	one.Count++
	one.Bytes += int64(len(field))
	h := sha256.New()
	h.Write(protowire.AppendBytes(nil, place))
	h.Write(field)
	// Fields with different numbers have no order, so combine hashes with a sum.
	for i, part := range h.Sum(nil) {
		one.Sum[i] += part
	}
}
