package pickle

import (
	"bytes"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/tensor"
)

// Kind returns the kind of a value.
func (m *Machine) Kind(r Ref) Kind { return m.values[r].kind }

// Len returns the number of values in a tuple, list or set, of keys and values in a dict, or of
// bytes in a text.
func (m *Machine) Len(r Ref) int { return int(m.values[r].n) }

// Int returns an integer.
func (m *Machine) Int(r Ref) (n int64, ok bool) {
	v := m.values[r]
	return int64(v.a) | int64(v.b)<<32, v.kind == IntKind
}

// Uint returns an integer that is larger than those of Int and has 64 bits.
func (m *Machine) Uint(r Ref) (n uint64, ok bool) {
	v := m.values[r]
	n = uint64(v.a) | uint64(v.b)<<32
	return n, v.kind == LongKind && n > math.MaxInt64
}

// Float returns a float.
func (m *Machine) Float(r Ref) float64 {
	v := m.values[r]
	return math.Float64frombits(uint64(v.a) | uint64(v.b)<<32)
}

// Text returns the bytes of a text or of bytes, and nil for another value. They are valid as long
// as the input.
func (m *Machine) Text(r Ref) []byte {
	v := m.values[r]
	switch {
	case v.kind != TextKind && v.kind != BytesKind:
		return nil
	case v.flags&ownFlag != 0:
		return m.own[v.a:][:v.n:v.n]
	}
	at := m.base + int64(v.a)
	return m.c.Window(at, at+int64(v.n))
}

// IsText reports whether r is a text that equals s.
func (m *Machine) IsText(r Ref, s string) bool {
	return m.values[r].kind == TextKind && string(m.Text(r)) == s
}

// offset returns the file offset of a text in the input, and false for one that is not there as it
// is.
func (m *Machine) offset(r Ref) (at int64, ok bool) {
	v := m.values[r]
	return m.base + int64(v.a), v.flags&ownFlag == 0
}

// original returns the line of the input that a text is which is not there as it is, and its
// offset.
func (m *Machine) original(r Ref) (at int64, line []byte) {
	at = m.base + int64(m.values[r].b)
	rest := m.c.Window(at, m.c.Offset())
	return at, rest[:bytes.IndexByte(rest, '\n')]
}

// Items returns the values of a tuple, valid until the machine runs again, and nil for another
// value.
func (m *Machine) Items(r Ref) []uint32 {
	v := m.values[r]
	if v.kind != TupleKind {
		return nil
	}
	return m.items[v.a:][:v.n:v.n]
}

// Each calls f for the values of a tuple, list, set or dict until it returns an error.
func (m *Machine) Each(r Ref, f func(i int, r Ref) error) error {
	for it := m.iterate(r); it.next(); {
		if err := f(it.i, it.r); err != nil {
			return err
		}
	}
	return nil
}

// iterator visits the values of a tuple, list, set or dict.
type iterator struct {
	m     *Machine
	chunk uint32 // the next one, or 0
	at    uint32 // of the next value
	left  uint32 // values at at
	i     int    // index of the current value
	r     Ref    // the current value
}

func (m *Machine) iterate(r Ref) iterator {
	v := m.values[r]
	it := iterator{m: m, i: -1}
	switch v.kind {
	case TupleKind:
		it.at = v.a
		it.left = v.n
	case ListKind, SetKind, DictKind:
		it.chunk = v.a
	}
	return it
}

func (it *iterator) next() bool {
	if it.left == 0 {
		if it.chunk == 0 {
			return false
		}
		it.left = it.m.items[it.chunk+1]
		it.at = it.chunk + chunkHead
		it.chunk = it.m.items[it.chunk]
	}
	it.r = Ref(it.m.items[it.at])
	it.at++
	it.left--
	it.i++
	return true
}

// Class returns the global that r is, or that was called to make r, and nil for another value.
func (m *Machine) Class(r Ref) *Global {
	v := m.values[r]
	if v.kind == ObjectKind {
		v = m.values[m.class(m.objects[v.a].class)]
	}
	if v.kind != GlobalKind {
		return nil
	}
	return &m.globals[v.a]
}

// class returns the global in a class that is stored with its source, and other values as they are.
func (m *Machine) class(r Ref) Ref {
	if m.values[r].kind != PersistentKind {
		return r
	}
	id := m.Items(m.ID(r))
	if len(id) > 1 && m.IsText(Ref(id[0]), "module") {
		return Ref(id[1])
	}
	return r
}

// ID returns the id of a persistent value, and None for another value.
func (m *Machine) ID(r Ref) Ref {
	v := m.values[r]
	if v.kind != PersistentKind {
		return None
	}
	return Ref(v.a)
}

// Args returns the arguments of the call that made r.
func (m *Machine) Args(r Ref) []uint32 {
	v := m.values[r]
	if v.kind != ObjectKind {
		return nil
	}
	return m.Items(m.objects[v.a].args)
}

// Persistent calls f for all persistent values until it returns an error.
func (m *Machine) Persistent(f func(r Ref) error) error {
	for i := fixed; int(i) < len(m.values); i++ {
		if m.values[i].kind != PersistentKind {
			continue
		}
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// ClassName names what r, which a pickle calls, is.
func (m *Machine) ClassName(r Ref) string { return m.className(r, 4) }

func (m *Machine) className(r Ref, depth int) string {
	r = m.class(r)
	v := m.values[r]
	switch {
	case v.kind == GlobalKind:
		return m.globals[v.a].Full()
	case v.kind != ObjectKind || depth == 0:
		return m.KindOf(r)
	}
	o := &m.objects[v.a]
	name := m.className(o.class, depth-1)
	if args := m.Items(o.args); name == "builtins.getattr" && len(args) == 2 && m.values[args[1]].kind == TextKind {
		return fmt.Sprintf("%s.%.200s", m.className(Ref(args[0]), depth-1), m.Text(Ref(args[1])))
	}
	return name + "()"
}

var kinds = [...]string{
	NoneKind: "None", BoolKind: "bool", IntKind: "int", FloatKind: "float", TextKind: "str", BytesKind: "bytes",
	TupleKind: "tuple", ListKind: "list", DictKind: "dict", SetKind: "set", PersistentKind: "storage",
}

// KindOf describes a value in errors and notes.
func (m *Machine) KindOf(r Ref) string {
	v := m.values[r]
	switch v.kind {
	case LongKind:
		return fmt.Sprintf("integer of %d bytes", v.n)
	case GlobalKind:
		return m.globals[v.a].Full()
	case ObjectKind:
		if g := m.Class(r); g != nil {
			return g.Full()
		}
		return "object"
	}
	return kinds[v.kind]
}

// Errorf returns an error about the object r, or about the pickle that begins at offset at.
func (m *Machine) Errorf(r Ref, sentinel error, text string, args ...any) error {
	at := m.base
	if v := m.values[r]; v.kind == ObjectKind {
		at += int64(m.objects[v.a].at)
	}
	return &tensor.Error{Field: "pickle", Offset: at, Err: fmt.Errorf("%w: %w", sentinel, fmt.Errorf(text, args...))}
}
