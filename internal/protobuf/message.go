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
	wire     protowire.Type
	Repeated bool // numbers may then be packed
	Message  *Message
	counts   bool    // it counts for a limit, or takes memory
	counted  Counted // what limit its elements count for
	takes    int64   // bytes of memory for an element
}

// Known returns the definition of a field that the checks and the decoder must
// know, nil for others.
func (m *Message) Known(num protowire.Number) *FieldDef {
	if int(num) < len(m.Fields) {
		if d := &m.Fields[num]; d.Kind > KindOurs {
			return d
		}
	}
	return nil
}

// Bare is a field that is checked and not kept.
func Bare(name string, k Kind) FieldDef { return FieldDef{Name: name, Kind: k, wire: k.WireType()} }

// One is a field of a single value.
func One(name string, k Kind) FieldDef {
	d := Bare(name, k)
	if d.wire == protowire.BytesType {
		return d.Takes(1)
	}
	return d
}

// Many is a field of several values.
func Many(name string, k Kind) FieldDef {
	d := Bare(name, k)
	d.Repeated = true
	switch k {
	case KindFloat:
		return d.Takes(4)
	case KindInt, KindEnum, KindDouble:
		return d.Takes(8)
	}
	return d.Takes(16)
}

// OneMessage is a field of a single message.
func OneMessage(name string, m *Message) FieldDef {
	return BareMessage(name, m, false).Takes(usualMessage)
}

// ManyMessages is a field of several messages.
func ManyMessages(name string, m *Message) FieldDef {
	return BareMessage(name, m, true).Takes(usualMessage)
}

// BareMessage is a field of messages that are checked and not kept.
func BareMessage(name string, def *Message, repeated bool) FieldDef {
	d := Bare(name, KindMessage)
	d.Message, d.Repeated = def, repeated
	return d
}

// Each makes the elements of a field count for a limit.
func (d FieldDef) Each(c Counted) FieldDef {
	d.counted, d.counts = c, true
	return d
}

// usualMessage is more than what the struct of a small message takes.
const usualMessage = 64

// Takes says how many bytes of memory an element of a field takes, besides its text and the
// messages in it; 0 is for what is not kept.
func (d FieldDef) Takes(n int64) FieldDef {
	d.takes = n
	d.counts = d.counts || n > 0
	return d
}
