// Package pickle reads Python's pickles as data. Its stack machine imports, calls and looks up
// nothing: what a pickle would call becomes an inert object, which has the name of a class and the
// values that the pickle gives it. A Walk finds the tensors, arrays and plain values in the result.
package pickle

import (
	"encoding/binary"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Ref is a value of a machine.
type Ref uint32

// These values are the same in each machine.
const (
	None Ref = iota
	False
	True
	emptyTuple
	fixed // their number
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of values.
const (
	NoneKind Kind = iota
	BoolKind
	IntKind
	FloatKind
	LongKind // an integer that is no int64
	TextKind
	BytesKind
	TupleKind
	ListKind
	DictKind
	SetKind
	GlobalKind
	ObjectKind
	PersistentKind // a value outside the pickle
)

// value is a value. It has no pointers, so that a pickle of many values is few allocations, which
// the garbage collector does not scan.
//
//	kind        n                a             b
//	bool                         0 or 1
//	int, float                   low 32 bits   high 32 bits
//	long        bytes
//	text, bytes length           position      of the line it is from
//	tuple       count            in items
//	list, set   count            first chunk   last chunk
//	dict        keys and values  first chunk   last chunk
//	global                       in globals
//	object                       in objects
//	persistent                   the id
type value struct {
	kind  Kind
	flags uint8
	n     uint32
	a, b  uint32
}

const (
	ownFlag  = 1 << iota // a text is in Machine.own, not in the input
	rawFlag              // a text of Python 2, which may be bytes
	openFlag             // the Walk is inside
	seenFlag             // the Walk has been inside
)

// object is what REDUCE, NEWOBJ and the like make. Absent parts are None.
type object struct {
	class, args, kwargs, state Ref
	dict, list                 Ref    // of the entries that SETITEMS, and APPENDS and ADDITEMS gave it
	at                         uint32 // position of the opcode that made it
}

// A chunk of a list or dict is in items: the index of the next chunk, or 0; the number of values;
// the values.
const chunkHead = 2

// Global is the name of a class or function.
type Global struct {
	Module, Name string
	role         role
	elem         *Elem // of a dtype or storage class
}

// Full returns the name with its module.
func (g *Global) Full() string { return g.Module + "." + g.Name }

// Machine runs pickles. The first error sticks; after it, all values are None.
type Machine struct {
	c    wire.Record
	base int64 // file offset of position 0
	at   int64 // offset of the current opcode

	values  []value
	items   []uint32
	objects []object
	own     []byte // texts that are not in the input as they are
	globals []Global
	byName  map[string]Ref // by module, newline, name
	name    []byte         // scratch
	blobs   map[Ref]blob   // of texts that were examined

	stack []Ref
	marks []uint32 // where the values above each mark begin; the first is 0
	memo  []Ref    // by key; 0 is a free one
	far   map[uint32]Ref
	kept  uint32 // number of keys in memo and far

	account *driver.Memory
	stored  int64 // size of the pickles in the file; -1: as far as they are read
	used    int64 // reserved from account
	charged int64 // allocated
}

// New returns a machine for the pickles at c, which have stored bytes in the file, or -1 if that is
// not known in advance. Position 0 of the record's buffer is at offset base of the file.
func New(c wire.Record, base, stored int64, account *driver.Memory) *Machine {
	m := &Machine{c: c, base: base, stored: stored, account: account, byName: make(map[string]Ref)}
	m.values = append(m.values, value{kind: NoneKind}, value{kind: BoolKind}, value{kind: BoolKind, a: 1}, value{kind: TupleKind})
	m.items = append(m.items, 0) // no chunk is at 0
	return m
}

// Release returns the memory of the machine to the account. Its values are not used after it.
func (m *Machine) Release() {
	m.account.Release(m.used)
	m.used = 0
}

// Err returns the first error.
func (m *Machine) Err() error { return m.c.Err() }

// Offset returns the offset of the next byte.
func (m *Machine) Offset() int64 { return m.c.Offset() }

// Left returns the number of bytes that are left.
func (m *Machine) Left() int64 { return m.c.Left() }

func (m *Machine) ok() bool { return m.c.Err() == nil }

// failf records an error in the current opcode.
func (m *Machine) failf(sentinel error, text string, args ...any) {
	if m.ok() { // else a long text is not formatted for nothing
		m.c.Stop(wire.Errorf("", "pickle", m.at, sentinel, text, args...))
	}
}

// charge reserves n bytes before they are allocated and reports whether the limit permits it. It
// reserves an eighth more than needed, so that most calls do nothing else.
func (m *Machine) charge(n int64) bool {
	m.charged += n
	if m.charged <= m.used || !m.ok() {
		return m.ok()
	}
	m.Release()
	stored := m.stored
	if stored < 0 {
		stored = m.c.Offset() - m.base
	}
	want := m.charged + m.charged/8
	if err := m.account.Build(want, stored); err != nil {
		m.c.Fail("pickle", m.at, err)
		return false
	}
	m.used = want
	return true
}

// grown returns list with room for n more elements of size bytes, or list as it is if the limit
// does not permit it.
func grown[T any](m *Machine, list []T, n int, size int64) []T {
	if len(list)+n <= cap(list) {
		return list
	}
	most := max(len(list)+n, cap(list)+cap(list)/2, 64)
	if !m.charge(size * int64(most-cap(list))) {
		return list
	}
	return append(make([]T, 0, most), list...)
}

// Sizes of elements.
const (
	valueBytes  = 16
	itemBytes   = 4
	objectBytes = 28
	globalBytes = 48 + 2*(16+4+8) // with its entry in the map
	farBytes    = 2 * 16
)

// most is the largest number of values, and of references to them in lists.
const most = 1<<31 - 1

// push pushes a value.
func (m *Machine) push(r Ref) {
	m.stack = grown(m, m.stack, 1, itemBytes)
	if m.ok() {
		m.stack = append(m.stack, r)
	}
}

// add adds a value and returns it.
func (m *Machine) add(v value) Ref {
	m.values = grown(m, m.values, 1, valueBytes)
	if len(m.values) >= most {
		m.failf(tensor.ErrLimit, "more than %d values", most)
	}
	if !m.ok() {
		return None
	}
	m.values = append(m.values, v)
	return Ref(len(m.values) - 1)
}

// pushNew pushes a new value.
func (m *Machine) pushNew(v value) { m.push(m.add(v)) }

// top returns the value on top of the stack; values below a mark are out of reach.
func (m *Machine) top() Ref {
	if !m.ok() || len(m.stack) == int(m.marks[len(m.marks)-1]) {
		m.failf(tensor.ErrCorrupt, "a value is missing on the stack")
		return None
	}
	return m.stack[len(m.stack)-1]
}

// pop pops a value.
func (m *Machine) pop() Ref {
	r := m.top()
	if m.ok() {
		m.stack = m.stack[:len(m.stack)-1]
	}
	return r
}

// mark pushes a mark.
func (m *Machine) mark() {
	m.marks = grown(m, m.marks, 1, itemBytes)
	if m.ok() {
		m.marks = append(m.marks, uint32(len(m.stack)))
	}
}

// popMark pops the last mark and the values above it, which are valid until the next push.
func (m *Machine) popMark() []Ref {
	n := len(m.marks) - 1
	if n == 0 {
		m.failf(tensor.ErrCorrupt, "a mark is missing on the stack")
		return nil
	}
	values := m.stack[m.marks[n]:]
	m.stack = m.stack[:m.marks[n]]
	m.marks = m.marks[:n]
	return values
}

// put stores the value on top of the stack in the memo.
func (m *Machine) put(key uint64) {
	r := m.top()
	if key > most {
		m.failf(tensor.ErrLimit, "the memo has keys of up to %d, this is %d", most, key)
	}
	if !m.ok() {
		return
	}
	k := uint32(key)
	_, known := m.remembered(k)
	if !known {
		m.kept++
	}
	switch {
	case key < uint64(len(m.memo)):
	case key <= uint64(m.kept)+64:
		n := int(key) + 1 - len(m.memo)
		m.memo = grown(m, m.memo, n, itemBytes)
		if !m.ok() {
			return
		}
		m.memo = m.memo[:key+1]
		clear(m.memo[len(m.memo)-n:])
	default:
		m.putFar(k, r)
		return
	}
	m.memo[k] = r + 1
}

// putFar stores a value under a key that is much larger than the number of keys.
func (m *Machine) putFar(key uint32, r Ref) {
	if m.far == nil {
		m.far = make(map[uint32]Ref)
	}
	if _, known := m.far[key]; known || m.charge(farBytes) {
		m.far[key] = r
	}
}

// remembered returns the value that the memo has under a key.
func (m *Machine) remembered(key uint32) (r Ref, ok bool) {
	if int(key) < len(m.memo) && m.memo[key] > 0 {
		return m.memo[key] - 1, true
	}
	r, ok = m.far[key]
	return r, ok
}

// get pushes a value of the memo.
func (m *Machine) get(key uint64) {
	if key <= most {
		r, ok := m.remembered(uint32(key))
		if ok {
			m.push(r)
			return
		}
	}
	m.failf(tensor.ErrCorrupt, "nothing is remembered as %d", key)
}

// tuple pushes a tuple of values.
func (m *Machine) tuple(values []Ref) {
	if len(values) == 0 {
		m.push(emptyTuple)
		return
	}
	m.room(len(values))
	if !m.ok() {
		return
	}
	at := len(m.items)
	for _, r := range values {
		m.items = append(m.items, uint32(r))
	}
	m.pushNew(value{kind: TupleKind, n: uint32(len(values)), a: uint32(at)})
}

// room makes room for n more items.
func (m *Machine) room(n int) {
	m.items = grown(m, m.items, n, itemBytes)
	if len(m.items)+n >= most {
		m.failf(tensor.ErrLimit, "more than %d items", most)
	}
}

// extend adds values to a list, set or dict.
func (m *Machine) extend(to Ref, values []Ref) {
	if len(values) == 0 {
		return
	}
	m.room(len(values) + chunkHead)
	if !m.ok() {
		return
	}
	v := &m.values[to]
	last := int(v.b)
	if v.n == 0 || last+chunkHead+int(m.items[last+1]) != len(m.items) { // the last chunk cannot grow
		at := len(m.items)
		m.items = append(m.items, 0, 0)
		if v.n == 0 {
			v.a = uint32(at)
		} else {
			m.items[last] = uint32(at)
		}
		v.b = uint32(at)
		last = at
	}
	for _, r := range values {
		m.items = append(m.items, uint32(r))
	}
	m.items[last+1] += uint32(len(values))
	v.n += uint32(len(values))
}

// append adds values to the list, set or object on top of the stack.
func (m *Machine) append(values []Ref, set bool) {
	to := m.top()
	v := m.values[to]
	switch {
	case v.kind == ListKind && !set, v.kind == SetKind && set:
		m.extend(to, values)
	case v.kind == ObjectKind:
		if m.objects[v.a].list == None {
			m.objects[v.a].list = m.add(value{kind: ListKind})
		}
		if m.ok() {
			m.extend(m.objects[v.a].list, values)
		}
	default:
		m.failf(tensor.ErrCorrupt, "it adds items to a value of type %.200q", m.KindOf(to))
	}
}

// set adds alternating keys and values to the dict or object on top of the stack.
func (m *Machine) set(values []Ref) {
	to := m.top()
	if len(values)%2 != 0 {
		m.failf(tensor.ErrCorrupt, "%d keys and values", len(values))
	}
	switch v := m.values[to]; {
	case !m.ok():
	case v.kind == DictKind:
		m.extend(to, values)
	case v.kind == ObjectKind:
		if m.objects[v.a].dict == None {
			m.objects[v.a].dict = m.add(value{kind: DictKind})
		}
		if m.ok() {
			m.extend(m.objects[v.a].dict, values)
		}
	default:
		m.failf(tensor.ErrCorrupt, "it sets items of a value of type %.200q", m.KindOf(to))
	}
}

// make pushes an inert object: what calling class with args would give.
func (m *Machine) make(class, args, kwargs Ref) {
	switch {
	case !m.ok():
		return
	case !m.isClass(class):
		m.failf(tensor.ErrCorrupt, "it calls a value of type %.200q", m.KindOf(class))
	case m.values[args].kind != TupleKind:
		m.failf(tensor.ErrCorrupt, "it calls %.200q with a value of type %.200q, which is no tuple", m.ClassName(class), m.KindOf(args))
	}
	m.objects = grown(m, m.objects, 1, objectBytes)
	if !m.ok() {
		return
	}
	m.objects = append(m.objects, object{class: class, args: args, kwargs: kwargs, at: uint32(m.at - m.base)})
	m.pushNew(value{kind: ObjectKind, a: uint32(len(m.objects) - 1)})
}

// isClass reports whether a pickle may call r: a global, the result of a call, such as an attribute
// of a class, or a class that is stored with its source.
func (m *Machine) isClass(r Ref) bool {
	k := m.values[r].kind
	return k == GlobalKind || k == ObjectKind || k == PersistentKind
}

// build sets the state of the object on top of the stack. If it has one, that is kept among its
// entries.
func (m *Machine) build(state Ref) {
	to := m.top()
	v := m.values[to]
	if !m.ok() {
		return
	}
	if v.kind != ObjectKind {
		m.failf(tensor.ErrCorrupt, "it sets the state of a value of type %.200q", m.KindOf(to))
		return
	}
	if old := m.objects[v.a].state; old != None {
		m.append([]Ref{old}, false)
	}
	m.objects[v.a].state = state
}

// global pushes the global that is named by its module, a newline and its name.
func (m *Machine) global(key []byte) {
	if !m.ok() {
		return
	}
	r, known := m.byName[string(key)]
	if !known {
		r = m.newGlobal(string(key))
	}
	m.push(r)
}

// mostGlobal is the longest name of a global or of its module.
const mostGlobal = 1024

func (m *Machine) newGlobal(key string) Ref {
	m.globals = grown(m, m.globals, 1, globalBytes)
	if !m.charge(int64(len(key))) {
		return None
	}
	g := globalOf(key)
	m.globals = append(m.globals, g)
	r := m.add(value{kind: GlobalKind, a: uint32(len(m.globals) - 1)})
	if m.ok() {
		m.byName[key] = r
	}
	return r
}

// source pushes n bytes of the input, which end at the next byte.
func (m *Machine) source(kind Kind, flags uint8, n int) {
	at := m.c.Offset() - m.base - int64(n)
	m.pushNew(value{kind: kind, flags: flags, n: uint32(n), a: uint32(at)})
}

// keep pushes bytes that are not in the input as they are, but as the line that begins at offset
// from.
func (m *Machine) keep(kind Kind, flags uint8, b []byte, from int64) {
	m.own = grown(m, m.own, len(b), 1)
	if len(m.own)+len(b) >= most {
		m.failf(tensor.ErrLimit, "more than %d bytes of text", most)
	}
	if !m.ok() {
		return
	}
	at := len(m.own)
	m.own = append(m.own, b...)
	m.pushNew(value{kind: kind, flags: flags | ownFlag, n: uint32(len(b)), a: uint32(at), b: uint32(from - m.base)})
}

// number reads an unsigned integer of up to 8 bytes.
func (m *Machine) number(width uint64) uint64 {
	b := m.c.Bytes("pickle", width)
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
