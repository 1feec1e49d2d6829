package protobuf

import "google.golang.org/protobuf/encoding/protowire"

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

// Message describes a message type.
type Message struct {
	Name   string
	Fields []FieldDef // sorted by number
	Arms   uint64     // bits of the field numbers in a oneof
}

// FieldDef describes a field of a message.
type FieldDef struct {
	Name     string
	Kind     Kind
	Repeated bool // numbers may be packed
	Message  *Message
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

// One returns a field with a single value.
func One(name string, k Kind) FieldDef { return FieldDef{Name: name, Kind: k, wire: k.WireType()} }

// Many returns a repeated field.
func Many(name string, k Kind) FieldDef {
	d := One(name, k)
	d.Repeated = true
	return d
}

// OneMessage returns a field with a single message.
func OneMessage(name string, m *Message) FieldDef {
	d := One(name, KindMessage)
	d.Message = m
	return d
}

// ManyMessages returns a repeated field of messages.
func ManyMessages(name string, m *Message) FieldDef {
	d := OneMessage(name, m)
	d.Repeated = true
	return d
}

// Each returns d with a limit that its elements count against.
func (d FieldDef) Each(c Counted) FieldDef {
	d.counted = c
	return d
}
