package onnxgraph

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
)

// The kinds that do not have the name of a field.
const (
	unknownFields        = "unknown_fields"
	subgraphInitializers = "subgraph_initializers"
)

// Kinds lists the native fields of a valid message by kind. level is 0 for a message that contains
// a graph, 1 for a graph.
func (d *Dialect) Kinds(t messages.Type, m messages.Message, level int) []schema.NativeKind {
	k := kinds{Dialect: d, found: map[string]*schema.NativeKind{}}
	k.fields(t, m, make([]byte, 0, 1<<10), level)
	var out []schema.NativeKind
	for _, name := range slices.Sorted(maps.Keys(k.found)) {
		out = append(out, *k.found[name])
	}
	return out
}

type kinds struct {
	*Dialect
	found map[string]*schema.NativeKind
}

// fields adds the native fields of a message. place is its path: field numbers, with an index for
// repeated fields.
func (k *kinds) fields(t messages.Type, m messages.Message, place []byte, level int) {
	var counts [32]uint64 // element 0 counts unknown fields, whose order is significant
	for f := m.Cursor(); f.Next(); {
		def := k.Schema.Field(t, &f)
		n := &counts[0]
		if def != nil {
			n = &counts[f.Number]
		}
		*n++
		here := binary.AppendUvarint(binary.AppendUvarint(place, uint64(f.Number)), *n)
		switch {
		case def == nil:
			k.add(unknownFields, f.Raw(), here)
		case def.Kind == messages.Ours:
		case level == 1 && k.Sparse != 0 && def.Of == k.Sparse: // a tensor of the model
		case def.Use&messages.Native != 0:
			k.add(def.Name, f.Raw(), here)
		case def.Kind != messages.Nested:
		case def.Use&messages.Declares != 0 && level > 1:
			k.add(subgraphInitializers, f.Raw(), here)
		case def.Use&messages.Declares != 0: // they may be reordered
			k.fields(def.Of, f.Message(), append(here[:len(place)], k.NameOf(f.Message())...), level+1)
		default:
			k.fields(def.Of, f.Message(), here, level+1)
		}
	}
}

// NameOf returns the name of an encoded tensor.
func (d *Dialect) NameOf(m messages.Message) (name string) {
	for f := m.Cursor(); f.Next(); {
		if f.Number == d.TensorName {
			name = f.Text()
		}
	}
	return name
}

// add counts a field.
func (k *kinds) add(name, field string, place []byte) {
	one := k.found[name]
	if one == nil {
		one = &schema.NativeKind{Name: name}
		k.found[name] = one
	}
	one.Count++
	one.Bytes += int64(len(field))
	h := sha256.New()
	h.Write(binary.AppendUvarint(nil, uint64(len(place))))
	h.Write(place)
	h.Write([]byte(field))
	// Fields with different numbers have no order, so combine hashes with a sum.
	for i, part := range h.Sum(nil) {
		one.Sum[i] += part
	}
}
