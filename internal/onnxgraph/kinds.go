package onnxgraph

import (
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
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
func (sc *Schema) Kinds(m *protobuf.Message, b []byte, level int) ([]driver.NativeKind, error) {
	k, s := kinds{sc, map[string]*driver.NativeKind{}}, protobuf.InMemory(b)
	err := k.fields(m, s, s.All(), make([]byte, 0, 1<<10), level)
	var out []driver.NativeKind
	for _, name := range slices.Sorted(maps.Keys(k.found)) {
		out = append(out, *k.found[name])
	}
	return out, err
}

type kinds struct {
	*Schema
	found map[string]*driver.NativeKind
}

// fields adds the native fields of a message. place is its path: field numbers, with an index for
// repeated fields.
func (k *kinds) fields(m *protobuf.Message, s *protobuf.Source, msg protobuf.Field, place []byte, level int) error {
	var counts [32]uint64 // element 0 counts unknown fields, whose order is significant
	return s.Each(m, msg, func(f protobuf.Field) error {
		d := m.Known(f.Num)
		n := &counts[0]
		if d != nil {
			n = &counts[f.Num]
		}
		*n++
		here := protowire.AppendVarint(protowire.AppendVarint(place, uint64(f.Num)), *n)
		switch {
		case d == nil && s.IsOurs(m, &f):
			return nil
		case d == nil:
			return k.add(unknownFields, s, &f, here)
		case d.Flags&protobuf.Native != 0:
			return k.add(d.Name, s, &f, here)
		case m == k.Graph && f.Num == k.Initializers && level > 1:
			return k.add(subgraphInitializers, s, &f, here)
		case m == k.Graph && f.Num == k.Initializers: // initializers may be reordered
			name, err := s.Last(d.Message, f, k.TensorName)
			if err != nil {
				return err
			}
			here = append(here[:len(place)], name...)
		}
		if d.Message == nil {
			return nil
		}
		return k.fields(d.Message, s, f, here, level+1)
	})
}

// add counts a field.
func (k *kinds) add(name string, s *protobuf.Source, f *protobuf.Field, place []byte) error {
	b, err := s.Bytes(f.At, f.End)
	if err != nil {
		return err
	}
	one := k.found[name]
	if one == nil {
		one = &driver.NativeKind{Name: name}
		k.found[name] = one
	}
	one.Count++
	one.Bytes += int64(len(b))
	h := sha256.New()
	h.Write(protowire.AppendBytes(nil, place))
	h.Write(b)
	// Fields with different numbers have no order, so combine hashes with a sum.
	for i, part := range h.Sum(nil) {
		one.Sum[i] += part
	}
	return nil
}
