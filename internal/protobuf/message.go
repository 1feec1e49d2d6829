package protobuf

import "google.golang.org/protobuf/encoding/protowire"

// Kind says what values a field has.
type Kind uint8

const (
	kindUnknown Kind = iota
	KindOurs         // a name where other writers may have put something else
	KindInt          // int32 and int64, as varint
	KindEnum         // varint within int32
	KindFloat        // fixed32
	KindDouble       // fixed64
	KindString       // UTF-8
	KindName         // UTF-8 without NUL
	KindBytes
	KindMessage
)

// WireType returns how a single value is written.
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

// Message is a type of messages.
type Message struct {
	Name   string
	Fields []FieldDef // by number
	Arms   uint64     // bits of the field numbers of a oneof
}

// FieldDef is a field of a message.
type FieldDef struct {
	Name     string
	Kind     Kind
	Repeated bool // numbers may then be packed
	Message  *Message
	wire     protowire.Type
	counted  Counted // what limit its elements count for
}

// Known returns the definition of a field, nil for an unknown one.
func (m *Message) Known(num protowire.Number) *FieldDef {
	if int(num) < len(m.Fields) {
		if d := &m.Fields[num]; d.Kind > KindOurs {
			return d
		}
	}
	return nil
}

// One is a field with a single value.
func One(name string, k Kind) FieldDef { return FieldDef{Name: name, Kind: k, wire: k.WireType()} }

// Many is a field with several values.
func Many(name string, k Kind) FieldDef {
	d := One(name, k)
	d.Repeated = true
	return d
}

// OneMessage is a field with a single message.
func OneMessage(name string, m *Message) FieldDef {
	d := One(name, KindMessage)
	d.Message = m
	return d
}

// ManyMessages is a field with several messages.
func ManyMessages(name string, m *Message) FieldDef {
	d := OneMessage(name, m)
	d.Repeated = true
	return d
}

// Each makes the elements of a field count for a limit.
func (d FieldDef) Each(c Counted) FieldDef {
	d.counted = c
	return d
}
