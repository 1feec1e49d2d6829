package messages

import (
	"strings"
	"unicode/utf8"
)

// Kind is the type of a field's values.
type Kind uint8

const (
	_      Kind = iota // an unknown field
	Ours               // an extension: a Name, or else an unknown field of another writer
	Int                // int32 or int64, as varint
	Enum               // int32, as varint
	Float              // fixed32
	Double             // fixed64
	String             // UTF-8
	Name               // UTF-8 without NUL
	Blob               // bytes
	Nested             // a message
)

// Wire returns the wire type of a single value.
func (k Kind) Wire() int {
	switch k {
	case Int, Enum:
		return Varint
	case Float:
		return Fixed32
	case Double:
		return Fixed64
	}
	return Bytes
}

// isNumber reports whether values of the kind may be packed.
func (k Kind) isNumber() bool { return k == Int || k == Float || k == Double }

// Use is a property of a field in a model.
type Use uint8

const (
	Native     Use = 1 << iota // has no place in a schema.Schema
	Ref                        // names a value of the graph
	Scope                      // names in it have their own scope
	Annotation                 // removed with a value that it names
	Typed                      // removed if types of tensors change
	Declares                   // a tensor of the graph, whose name values refer to
	Doc                        // a part of a schema.Doc: a text, a pair, or a message with them
)

// Type is the type of a message: an index in a Schema.
type Type uint8

// Schema describes the messages of a format, by Type. It is a literal, which costs nothing when a
// program starts.
type Schema []Def

// Def describes a message.
type Def struct {
	Name   string
	Fields []Field // by number
	OneOf  uint64  // bits of the field numbers in a oneof
}

// Field describes a field of a message.
type Field struct {
	Name  string
	Kind  Kind
	Many  bool // repeated; numbers may be packed
	Of    Type // of a nested message
	Use   Use
	Limit Limit // that its elements count against
}

// Field returns the description of the cursor's field in a message of type t, or nil if it is
// unknown.
func (s Schema) Field(t Type, c *Cursor) *Field {
	f := s[t].field(c.Number)
	if f != nil && f.Kind == Ours && !c.isName() {
		return nil
	}
	return f
}

// Known returns the description of a field in a message of type t, or nil if it is unknown.
func (s Schema) Known(t Type, number int) *Field { return s[t].field(number) }

// field returns the description of a field, or nil if it is unknown.
func (d *Def) field(number int) *Field {
	if number >= len(d.Fields) || d.Fields[number].Kind == 0 {
		return nil
	}
	return &d.Fields[number]
}

// isName reports whether the field is a valid name.
func (c *Cursor) isName() bool {
	return c.Wire == Bytes && utf8.ValidString(c.Text()) && strings.IndexByte(c.Text(), 0) < 0
}
