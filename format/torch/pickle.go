package torch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// The memory that the machine takes at most, in bytes. Lists that grow have up to twice the length that they need, and
// maps up to twice the entries.
const (
	slotBytes = 16        // a value in a tuple, list or dict
	pushBytes = 2 * 16    // on the stack
	markBytes = 2 * 8     // a mark
	itemBytes = 2 * 16    // a value in a list or dict that grows
	memoBytes = 2 * 32    // an entry of the memo
	rootBytes = 2*32 + 64 // of the storages, with its key
)

// sizeOf returns the memory of a new value, without what is charged elsewhere: texts and the items of lists and dicts.
func sizeOf(v any) int64 {
	switch v := v.(type) {
	case int64, float64:
		return 8
	case string, opaque:
		return 16
	case raw:
		return 24
	case tuple:
		return 24 + slotBytes*int64(len(v))
	case *list, *dict:
		return 24
	case global:
		return 32
	case *storage:
		return 48
	case *rebuilt:
		return 128 + 8*int64(len(v.shape)+len(v.stride))
	case *numpyType:
		return 16
	}
	return 0 // nil and bool
}

// pickle runs pickles as data for a stack machine that imports, calls and resolves nothing. The
// first error sticks; after it, all values are zero. The known functions are in values.go.
type pickle struct {
	c      wire.Cursor
	at     int64 // offset of the current opcode
	stored int64 // size of the pickles, as far as they are read
	legacy bool  // in the legacy container, whose pickles have unknown lengths

	stack []any
	marks []int // where the values above each mark begin; the first is 0
	memo  map[uint32]any
	roots map[string]*storage // storages seen in persistent ids, by key

	account *driver.Memory
	used    int64 // reserved from account
	charged int64 // size of the values made so far, and of stack, marks and memo at their largest
	deepest int   // length of the stack at its largest
	marked  int   // of marks
	longest int   // of the memo
}

// newPickle returns a machine that runs the pickles at c.
func newPickle(c wire.Cursor, account *driver.Memory) pickle {
	return pickle{c: c, stored: c.Left(), memo: make(map[uint32]any), roots: make(map[string]*storage), account: account}
}

// release returns the reserved memory to the account.
func (p *pickle) release() { p.account.Release(p.used) }

// ok reports whether no error has occurred.
func (p *pickle) ok() bool { return p.c.Err() == nil }

// charge reserves n bytes before they are allocated and reports whether the limit permits it. It
// reserves an eighth more than needed, so that most calls do nothing else.
func (p *pickle) charge(n int64) bool {
	if p.charged += n; p.charged > p.used && p.ok() {
		p.release()
		p.used = p.charged + p.charged/8
		stored := p.stored
		if p.legacy {
			stored = p.c.Offset()
		}
		if err := p.account.Build(p.used, stored); err != nil {
			p.used = 0
			p.c.Fail("pickle", p.at, err)
		}
	}
	return p.ok()
}

// failf records an error in the current opcode.
func (p *pickle) failf(sentinel error, text string, args ...any) {
	p.c.Failf("pickle", p.at, sentinel, text, args...)
}

// next runs a pickle up to its STOP opcode and returns its object. Another pickle may follow.
func (p *pickle) next() any {
	clear(p.memo)
	p.stack, p.marks = p.stack[:0], append(p.marks[:0], 0)
	p.at = p.c.Offset()
	if op := p.number(1); op != 0x80 {
		p.failf(format.ErrUnsupported, "it begins with %#x, protocols 2 to 5 begin with 0x80", op)
	} else if v := p.number(1); v < 2 || v > 5 {
		p.failf(format.ErrUnsupported, "protocol %d, known are 2 to 5", v)
	}
	for p.ok() {
		p.at = p.c.Offset()
		op := byte(p.number(1))
		if p.ok() && op == '.' { // STOP
			v := p.pop()
			if len(p.stack) > 0 || len(p.marks) > 1 {
				p.failf(format.ErrCorrupt, "%d values are left at its end", len(p.stack))
			}
			return v
		}
		if arg := p.number(widths[op]); p.ok() {
			p.execute(op, arg)
		}
	}
	return nil
}

// widths has the sizes of the integers that follow opcodes: a number, the length of the bytes after
// it, or a key of the memo.
var widths = [256]uint64{
	'K': 1, 'M': 2, 'J': 4, 'G': 8, 0x8a: 1, 0x8b: 4, 0x8c: 1, 'X': 4, 0x8d: 8, 'U': 1, 'T': 4, 'C': 1, 'B': 4, 0x8e: 8, 0x96: 8,
	'q': 1, 'r': 4, 'h': 1, 'j': 4, 0x95: 8,
}

// number reads an unsigned integer of up to 8 bytes.
func (p *pickle) number(width uint64) uint64 {
	var b [8]byte
	copy(b[:], p.c.Bytes("pickle", width))
	return binary.LittleEndian.Uint64(b[:])
}

// execute runs an opcode. Opcode names are those of Python's pickletools.
func (p *pickle) execute(op byte, arg uint64) {
	switch op {
	case 'N': // NONE
		p.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		p.push(op == 0x88)
	case 'J': // BININT
		p.pushNew(int64(int32(arg)))
	case 'K', 'M': // BININT1, BININT2
		p.pushNew(int64(arg))
	case 'G': // BINFLOAT
		p.pushNew(math.Float64frombits(bits.ReverseBytes64(arg)))
	case 0x8a, 0x8b: // LONG1, LONG4
		p.pushNew(long(p.c.Bytes("pickle", arg)))
	case 0x8c, 'X', 0x8d: // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
		p.text(p.c.Bytes("pickle", arg), false)
	case 'U', 'T': // SHORT_BINSTRING, BINSTRING
		p.text(p.c.Bytes("pickle", arg), true)
	case 'C', 'B', 0x8e, 0x96: // SHORT_BINBYTES, BINBYTES, BINBYTES8, BYTEARRAY8
		p.raw(p.c.Bytes("pickle", arg))
	case 'q', 'r': // BINPUT, LONG_BINPUT
		p.put(uint32(arg))
	case 'h', 'j': // BINGET, LONG_BINGET
		v, ok := p.memo[uint32(arg)]
		if !ok {
			p.failf(format.ErrCorrupt, "nothing is remembered as %d", arg)
		}
		p.push(v)
	case 0x95: // FRAME
		if arg > uint64(p.c.Left()) {
			p.failf(format.ErrTruncated, "a frame of %d bytes, %d are left", arg, p.c.Left())
		}
	case ')', 0x85, 0x86, 0x87: // EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3
		t := tuple(nil)
		if op != ')' {
			t = make(tuple, op-0x84)
		}
		for i := len(t) - 1; i >= 0; i-- {
			t[i] = p.pop()
		}
		p.pushNew(t)
	case 't': // TUPLE
		p.pushNew(tuple(slices.Clone(p.popMark())))
	case ']': // EMPTY_LIST
		p.pushNew(new(list))
	case 'a': // APPEND
		p.extend([]any{p.pop()})
	case 'e': // APPENDS
		p.extend(p.popMark())
	case '}': // EMPTY_DICT
		p.pushNew(new(dict))
	case 's': // SETITEM
		v, k := p.pop(), p.pop()
		p.set([]any{k, v})
	case 'u': // SETITEMS
		p.set(p.popMark())
	case 0x8f: // EMPTY_SET
		p.pushNew(opaque("set"))
	case 0x90: // ADDITEMS
		p.popMark()
		p.top()
	case 0x91: // FROZENSET
		p.popMark()
		p.pushNew(opaque("frozenset"))
	case '(': // MARK
		if len(p.marks) > p.marked {
			p.marked = len(p.marks)
			p.charge(markBytes)
		}
		p.marks = append(p.marks, len(p.stack))
	case '0': // POP; pops the mark if it is on top
		if n := len(p.marks) - 1; n > 0 && p.marks[n] == len(p.stack) {
			p.marks = p.marks[:n]
		} else {
			p.pop()
		}
	case '1': // POP_MARK
		p.popMark()
	case 0x94: // MEMOIZE
		p.put(uint32(len(p.memo)))
	case 'c': // GLOBAL
		module := p.line()
		p.global(module, p.line())
	case 0x93: // STACK_GLOBAL
		name := as[string](p, p.pop())
		p.global(as[string](p, p.pop()), name)
	case 'R', 0x81: // REDUCE, NEWOBJ
		args := as[tuple](p, p.pop())
		p.pushNew(p.call(p.pop(), args))
	case 'b': // BUILD
		p.build(p.pop())
	case 'Q': // BINPERSID
		p.pushNew(p.persistent(p.pop()))
	default:
		p.failf(format.ErrUnsupported, "opcode %#x is none that torch.save writes", op)
	}
}

// text pushes a string. Strings from Python 2 (old) need not be UTF-8.
func (p *pickle) text(b []byte, old bool) {
	switch valid := utf8.Valid(b); {
	case !valid && !old:
		p.failf(format.ErrCorrupt, "a string is no UTF-8")
	case !valid:
		p.raw(b)
	case p.charge(int64(len(b))):
		p.pushNew(string(b))
	}
}

// raw pushes bytes.
func (p *pickle) raw(b []byte) {
	if p.charge(int64(len(b))) {
		p.pushNew(raw(bytes.Clone(b)))
	}
}

// line reads up to the next newline.
func (p *pickle) line() string {
	const most = 1024
	var b []byte
	for c := p.number(1); p.ok() && c != '\n'; c = p.number(1) {
		if b = append(b, byte(c)); len(b) > most {
			p.failf(format.ErrCorrupt, "the name of a global has more than %d bytes", most)
		}
	}
	return string(b)
}

// extend appends items to the list on top of the stack.
func (p *pickle) extend(items []any) {
	if l := as[*list](p, p.top()); p.charge(itemBytes * int64(len(items))) {
		l.items = append(l.items, items...)
	}
}

// set adds alternating keys and values to the dict on top of the stack.
func (p *pickle) set(items []any) {
	d := as[*dict](p, p.top())
	if len(items)%2 != 0 {
		p.failf(format.ErrCorrupt, "%d keys and values", len(items))
	}
	if p.charge(itemBytes * int64(len(items))) {
		d.items = append(d.items, items...)
	}
}

// put stores the value on top of the stack in the memo.
func (p *pickle) put(key uint32) {
	v := p.top()
	if len(p.memo) == p.longest {
		p.longest++
		p.charge(memoBytes)
	}
	if p.ok() {
		p.memo[key] = v
	}
}

// global pushes a known global; an unknown one is an error.
func (p *pickle) global(module, name string) {
	g := global{module, name}
	if p.ok() && !g.known() {
		p.failf(format.ErrUnsupported, "it uses %.200q, which is none of the globals that tensors need and is not looked up", module+"."+name)
	}
	if p.charge(int64(len(module) + len(name))) {
		p.pushNew(g)
	}
}

func (p *pickle) push(v any) {
	if len(p.stack) == p.deepest {
		p.deepest++
		p.charge(pushBytes)
	}
	if p.ok() {
		p.stack = append(p.stack, v)
	}
}

// pushNew pushes a value that was not there before. A function may return one that was: it is charged again.
func (p *pickle) pushNew(v any) {
	if p.ok() && p.charge(sizeOf(v)) {
		p.push(v)
	}
}

// pop pops a value; values below a mark are out of reach.
func (p *pickle) pop() any {
	v := p.top()
	if p.ok() {
		p.stack = p.stack[:len(p.stack)-1]
	}
	return v
}

func (p *pickle) top() any {
	if len(p.stack) == p.marks[len(p.marks)-1] {
		p.failf(format.ErrCorrupt, "a value is missing on the stack")
		return nil
	}
	return p.stack[len(p.stack)-1]
}

// popMark pops the values above the last mark, and the mark. The result aliases the stack until the next push.
func (p *pickle) popMark() []any {
	n := len(p.marks) - 1
	if n == 0 {
		p.failf(format.ErrCorrupt, "a mark is missing on the stack")
		return nil
	}
	values := p.stack[p.marks[n]:]
	p.stack = p.stack[:p.marks[n]]
	p.marks = p.marks[:n]
	return values
}

// long decodes little-endian two's complement. A number that needs more than 64 bits is opaque.
func long(b []byte) any {
	if len(b) > 8 {
		return opaque(fmt.Sprintf("integer of %d bytes", len(b)))
	}
	var n int64
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | int64(b[i])
	}
	shift := 64 - 8*len(b)
	return n << shift >> shift
}
