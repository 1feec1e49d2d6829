package messages

// Edit copies messages, which must be valid, and changes them: it renames and removes tensors as a
// schema requires, or replaces the contents of tensors. The rest is copied byte by byte.
type Edit struct {
	Schema     Schema
	Tensor     Type
	TensorName int // the field with the name of a tensor

	// Replace, if not nil, appends the fields of a tensor, and reports whether it changed them.
	Replace func(b []byte, tensor Message) ([]byte, bool, error)

	Names   map[string]string // new names of tensors, by old name
	Fresh   map[string]bool   // names that no tensor had before
	Gone    map[string]bool   // old names of removed tensors
	Retyped bool              // tensors have other types, so the types of values are unknown

	Clash   bool           // a name in Fresh is already in use
	Dropped map[string]int // fields removed, by name; set with Gone and Retyped
	Err     error          // the first of Replace

	missing bool // the message names a removed tensor
}

// isIdle reports whether there is nothing to change.
func (e *Edit) isIdle() bool {
	return e.Replace == nil && len(e.Names)+len(e.Gone) == 0 && !e.Retyped
}

// AppendMessage appends the fields of a message of type t.
func (e *Edit) AppendMessage(b []byte, t Type, m Message) []byte {
	for c := m.Cursor(); c.Next(); {
		b = e.AppendField(b, t, &c)
	}
	return b
}

// AppendField appends a field of a message of type t.
func (e *Edit) AppendField(b []byte, t Type, c *Cursor) []byte {
	f := e.Schema.Field(t, c)
	switch {
	case f == nil || e.isIdle():
	case f.Use&Ref != 0:
		return e.appendName(b, c)
	case f.Kind != Nested || c.Wire != Bytes:
	case e.Replace == nil && f.Use&Scope != 0:
	case e.Retyped && f.Use&Typed != 0:
		e.Dropped[f.Name]++
		return b
	default:
		return e.appendNested(b, f, c)
	}
	return append(b, c.Raw()...)
}

// appendNested appends a message, unless it is an annotation of a tensor that is gone.
func (e *Edit) appendNested(b []byte, f *Field, c *Cursor) []byte {
	missing := e.missing
	clash := e.Clash
	before := len(b)
	b, start := Begin(b, c.Number)
	switch {
	case e.Replace != nil && f.Of == e.Tensor:
		b = e.appendTensor(b, c.Message())
	case f.Use&Declares != 0:
		b = e.appendDeclared(b, f.Of, c.Message())
	default:
		b = e.AppendMessage(b, f.Of, c.Message())
	}
	if f.Use&Annotation != 0 && (e.missing && !missing || e.Clash && !clash) {
		e.Dropped[f.Name]++
		e.missing = missing
		e.Clash = clash
		return b[:before]
	}
	if string(b[start:]) == c.Text() { // the length may be encoded otherwise
		return append(b[:before], c.Raw()...)
	}
	return End(b, start)
}

// appendDeclared appends the tensor of a subgraph, which nodes refer to by its name.
func (e *Edit) appendDeclared(b []byte, t Type, m Message) []byte {
	for c := m.Cursor(); c.Next(); {
		if c.Number == e.TensorName {
			b = e.appendName(b, &c)
			continue
		}
		b = e.AppendField(b, t, &c)
	}
	return b
}

// appendTensor appends a tensor that Replace may change.
func (e *Edit) appendTensor(b []byte, m Message) []byte {
	if e.Err != nil {
		return b
	}
	before := len(b)
	b, changed, err := e.Replace(b, m)
	e.Err = err
	if changed && err == nil {
		return b
	}
	return append(b[:before], m.text...)
}

// appendName appends the new name of a value.
func (e *Edit) appendName(b []byte, c *Cursor) []byte {
	old := c.Text()
	e.missing = e.missing || e.Gone[old]
	name, ok := e.Names[old]
	if ok && name != old {
		return AppendBytes(b, c.Number, name)
	}
	if !ok {
		e.Clash = e.Clash || e.Fresh[old]
	}
	return append(b, c.Raw()...)
}
