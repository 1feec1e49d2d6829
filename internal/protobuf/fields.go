package protobuf

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

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
	Name    string
	Fields  []FieldDef // by number
	Arms    uint64     // bits of the field numbers of a oneof
	Unknown func(m any) *[]byte
	// What a type of messages does beside its fields; nil for nothing: Seen is called
	// for each field of a message that is merged into m. Typed returns what is written
	// in place of m, and Tail appends what comes last.
	Seen  func(m any, num protowire.Number)
	Typed func(m any) any
	Tail  func(m any, b []byte) []byte
}

// FieldDef is a field of a message.
type FieldDef struct {
	Name     string
	Kind     Kind
	wire     protowire.Type
	Repeated bool // numbers may then be packed
	Message  *Message
	counts   bool                  // it counts for a limit, or takes memory
	counted  Counted               // what limit its elements count for
	takes    [2]int64              // bytes of memory for an element, by Form
	value    func(m any) any       // a pointer to the Go field; nil for messages, and where none is kept
	subs     subs                  // the Go fields of messages
	data     func(m any, b []byte) // takes the bytes of a field that the tail of the message writes
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

// subs are the messages in a field, of the message that m points to.
type subs interface {
	len(m any) int
	at(m any, i int) any
	// next returns the message that the next occurrence of the field is read into.
	next(m any) any
	// grow makes room for n messages more.
	grow(m any, n int)
}

// optional is a field for one message, which merges when it occurs again.
type optional[M, S any] func(*M) **S

func (o optional[M, S]) len(m any) int {
	if *o(m.(*M)) == nil {
		return 0
	}
	return 1
}

func (o optional[M, S]) at(m any, _ int) any { return *o(m.(*M)) }
func (o optional[M, S]) next(m any) any      { return alloc(o(m.(*M))) }
func (o optional[M, S]) grow(any, int)       {}

// list is a field for many messages.
type list[M, S any] func(*M) *[]S

func (l list[M, S]) len(m any) int       { return len(*l(m.(*M))) }
func (l list[M, S]) at(m any, i int) any { return &(*l(m.(*M)))[i] }
func (l list[M, S]) next(m any) any      { return extend(l(m.(*M))) }
func (l list[M, S]) grow(m any, n int)   { grow(l(m.(*M)), n) }

// alloc makes the value that *p points to unless it is there already.
func alloc[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// extend appends an empty value.
func extend[T any](list *[]T) *T {
	var zero T
	*list = append(*list, zero)
	return &(*list)[len(*list)-1]
}

func grow[T any](list *[]T, n int) { *list = slices.Grow(*list, n) }

// Bare is a field that is checked and not kept.
func Bare(name string, k Kind) FieldDef { return FieldDef{Name: name, Kind: k, wire: k.WireType()} }

// One is a field of a single value.
func One[M, V any](name string, k Kind, at func(*M) *V) FieldDef {
	d := Bare(name, k)
	d.value = func(m any) any { return at(m.(*M)) }
	if d.wire == protowire.BytesType {
		return d.Takes(1, 1)
	}
	return d
}

// Many is a field of several values.
func Many[M, V any](name string, k Kind, at func(*M) *[]V) FieldDef {
	d := One(name, k, at)
	d.Repeated = true
	switch k {
	case KindFloat:
		return d.Takes(4, 4)
	case KindInt, KindEnum, KindDouble:
		return d.Takes(8, 8)
	}
	return d.Takes(16, 16)
}

func OneMessage[M, S any](name string, def *Message, at func(*M) **S) FieldDef {
	d := Bare(name, KindMessage)
	d.Message, d.subs = def, optional[M, S](at)
	return d.Takes(usualMessage, usualMessage)
}

func ManyMessages[M, S any](name string, def *Message, at func(*M) *[]S) FieldDef {
	d := Bare(name, KindMessage)
	d.Message, d.subs, d.Repeated = def, list[M, S](at), true
	return d.Takes(usualMessage, usualMessage)
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

// Takes says how many bytes of memory an element of a field takes in either Form, besides
// its text and the messages in it. 0 is for what the form does not have.
func (d FieldDef) Takes(neutral, message int64) FieldDef {
	d.takes = [2]int64{neutral, message}
	d.counts = d.counts || neutral > 0
	return d
}

// Unknown is where a message keeps the fields that its table does not have.
func Unknown[M any](at func(*M) *[]byte) func(m any) *[]byte {
	return func(m any) *[]byte { return at(m.(*M)) }
}

// TailData is a field whose bytes take keeps, and which the tail of the message writes.
func TailData[M any](name string, take func(m *M, b []byte)) FieldDef {
	d := Bare(name, KindBytes)
	d.data = func(m any, b []byte) { take(m.(*M), b) }
	return d
}

// Raw is a message that is kept in wire form. Checking looks into it.
type Raw []byte

// OneRaw is a field of one message that is kept in wire form.
func OneRaw[M any](name string, def *Message, at func(*M) *Raw) FieldDef {
	d := BareMessage(name, def, false)
	d.value = func(m any) any { return at(m.(*M)) }
	return d.Takes(usualMessage, usualMessage)
}

// ManyRaw is a field of messages that are kept in wire form.
func ManyRaw[M any](name string, def *Message, at func(*M) *[]Raw) FieldDef {
	d := BareMessage(name, def, true)
	d.value = func(m any) any { return at(m.(*M)) }
	return d.Takes(usualMessage, usualMessage)
}
