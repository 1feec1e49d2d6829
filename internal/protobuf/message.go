// Package protobuf reads and writes the protocol buffers of the formats wia and onnx, from memory
// or from a file of any size. Tables of fields describe the messages, which are validated against
// them.
//
// A Defect describes an error in a message and its location, as a path such as
// "nodes[3].attributes[1].t.dims". Valid input does not pay for paths.
package protobuf

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Kind is the type of a field's values.
type Kind uint8

const (
	kindUnknown Kind = iota
	KindOurs         // a name, unless another writer uses the field number
	KindInt          // int32 or int64, as varint
	KindEnum         // int32, as varint
	KindFloat        // fixed32
	KindDouble       // fixed64
	KindString       // UTF-8
	KindName         // UTF-8 without NUL
	KindBytes
	KindMessage
)

var kinds = map[string]Kind{
	"ours": KindOurs, "int": KindInt, "enum": KindEnum, "float": KindFloat, "double": KindDouble,
	"string": KindString, "name": KindName, "bytes": KindBytes,
}

// WireType returns the wire type of a single value.
func (k Kind) WireType() protowire.Type {
	switch k {
	case KindInt, KindEnum:
		return protowire.VarintType
	case KindFloat:
		return protowire.Fixed32Type
	case KindDouble:
		return protowire.Fixed64Type
	}
	return protowire.BytesType
}

// Flag is a property of a field in a model.
type Flag uint8

const (
	Native     Flag = 1 << iota // has no place in a schema
	Ref                         // names a value of the graph
	Scope                       // names in it have their own scope
	Annotation                  // removed with a value that it names
	Typed                       // removed if types of tensors change
)

var flags = map[string]Flag{"native": Native, "ref": Ref, "scope": Scope, "annotation": Annotation, "typed": Typed}

// Message describes a message type.
type Message struct {
	Name   string
	Fields []FieldDef // by number
	Arms   uint64     // bits of the field numbers in a oneof
}

// FieldDef describes a field of a message.
type FieldDef struct {
	Name     string
	Kind     Kind
	Repeated bool // numbers may be packed
	Message  *Message
	Flags    Flag
	wire     protowire.Type
	counted  Counted // limit that its elements count against
}

// Known returns the definition of a field, or nil if it is unknown.
func (m *Message) Known(num protowire.Number) *FieldDef {
	if int(num) < len(m.Fields) {
		if d := &m.Fields[num]; d.Kind > KindOurs {
			return d
		}
	}
	return nil
}

// Parse parses a table of messages, by name, such as
//
//	Shape: 1 dim Dimension* value_dims, 2 denotation string native;
//
// A field has a number, a name, a kind or a message, with a star if it is repeated, and options:
// "oneof", a Flag, or the limit that its elements count against.
func Parse(table string) map[string]*Message {
	all := map[string]*Message{}
	named := func(name string) *Message {
		if all[name] == nil {
			all[name] = &Message{Name: name}
		}
		return all[name]
	}
	for text := range strings.SplitSeq(strings.TrimRight(table, ";\n"), ";") {
		name, fields, _ := strings.Cut(text, ":")
		m := named(strings.TrimSpace(name))
		for field := range strings.SplitSeq(fields, ",") {
			words := strings.Fields(field)
			num, _ := strconv.Atoi(words[0])
			d := FieldDef{Name: words[1]}
			kind, repeated := strings.CutSuffix(words[2], "*")
			if d.Kind, d.Repeated = kinds[kind], repeated; d.Kind == kindUnknown {
				d.Kind = KindMessage
				d.Message = named(kind)
			}
			d.wire = d.Kind.WireType()
			for _, option := range words[3:] {
				d.Flags |= flags[option]
				d.counted |= CountedAs(option)
				if option == "oneof" {
					m.Arms |= 1 << num
				}
			}
			m.Fields = append(m.Fields, make([]FieldDef, num+1-len(m.Fields))...)
			m.Fields[num] = d
		}
	}
	return all
}
