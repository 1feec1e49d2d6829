package torch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// Opcodes of Python's pickletools that torch.save writes, protocols 2 to 5.
const (
	opMark          = '('
	opStop          = '.'
	opPop           = '0'
	opPopMark       = '1'
	opDup           = '2'
	opBinFloat      = 'G'
	opBinInt        = 'J'
	opBinInt1       = 'K'
	opBinInt2       = 'M'
	opNone          = 'N'
	opBinPersID     = 'Q'
	opReduce        = 'R'
	opBinString     = 'T'
	opShortString   = 'U'
	opBinUnicode    = 'X'
	opAppend        = 'a'
	opBuild         = 'b'
	opGlobal        = 'c'
	opDict          = 'd'
	opAppends       = 'e'
	opBinGet        = 'h'
	opLongBinGet    = 'j'
	opList          = 'l'
	opBinPut        = 'q'
	opLongBinPut    = 'r'
	opSetItem       = 's'
	opTuple         = 't'
	opSetItems      = 'u'
	opEmptyDict     = '}'
	opEmptyList     = ']'
	opEmptyTuple    = ')'
	opBinBytes      = 'B'
	opShortBinBytes = 'C'
	opProto         = 0x80
	opNewObj        = 0x81
	opTuple1        = 0x85
	opTuple2        = 0x86
	opTuple3        = 0x87
	opNewTrue       = 0x88
	opNewFalse      = 0x89
	opLong1         = 0x8a
	opLong4         = 0x8b
	opShortUnicode  = 0x8c
	opBinUnicode8   = 0x8d
	opBinBytes8     = 0x8e
	opEmptySet      = 0x8f
	opAddItems      = 0x90
	opFrozenSet     = 0x91
	opStackGlobal   = 0x93
	opMemoize       = 0x94
	opFrame         = 0x95
	opByteArray8    = 0x96
)

// What a value takes in memory, about.
const (
	objectBytes = 32
	memoBytes   = 48
)

// pickle reads one object of a pickle: data for a stack machine that imports, calls and
// resolves nothing. What it makes is in values.go.
type pickle struct {
	c      wire.Cursor
	at     int64 // of the opcode at work
	stored int64 // bytes of the pickle
	legacy bool  // persistent ids are those of the legacy container

	stack []any
	marks []int
	memo  map[uint32]any
	roots map[string]*storage // the storages that persistent ids named, by key

	account *driver.Memory
	used    int64 // of account
	charged int64 // what was made so far
}

// newPickle reads a pickle from b, whose first byte is at offset base of the file.
func newPickle(b []byte, base int64, account *driver.Memory) *pickle {
	return &pickle{c: wire.NewCursor("", b, base), stored: int64(len(b)), memo: make(map[uint32]any), roots: make(map[string]*storage), account: account}
}

// release returns the memory that was counted for values.
func (p *pickle) release() {
	p.account.Release(p.used)
	p.used = 0
}

// charge counts n bytes that are about to be allocated.
func (p *pickle) charge(n int64) {
	p.charged += n
	if p.charged <= p.used || p.c.Err() != nil {
		return
	}
	p.account.Release(p.used)
	want := p.charged + p.charged/8
	if err := p.account.Build(want, p.stored); err != nil {
		p.used = 0
		p.c.Fail("pickle", p.at, err)
		return
	}
	p.used = want
}

// failf records what is wrong with the opcode at work.
func (p *pickle) failf(sentinel error, text string, args ...any) {
	p.c.Failf("pickle", p.at, sentinel, text, args...)
}

// next runs the pickle up to its STOP, and returns its object. Another pickle may follow.
func (p *pickle) next() (any, error) {
	clear(p.memo)
	p.stack, p.marks = p.stack[:0], p.marks[:0]
	p.at = p.c.Offset()
	if op := p.c.U8("pickle"); p.c.Err() == nil && op != opProto {
		p.failf(format.ErrUnsupported, "it begins with %#x, protocols 2 to 5 begin with 0x80", op)
	} else if v := p.c.U8("pickle"); p.c.Err() == nil && (v < 2 || v > 5) {
		p.failf(format.ErrUnsupported, "protocol %d, known are 2 to 5", v)
	}
	for p.c.Err() == nil {
		p.at = p.c.Offset()
		op := p.c.U8("pickle")
		if p.c.Err() != nil {
			break
		}
		if op == opStop {
			return p.stop()
		}
		p.run(op)
	}
	return nil, p.c.Err()
}

func (p *pickle) stop() (any, error) {
	v := p.pop()
	if len(p.stack) > 0 || len(p.marks) > 0 {
		p.failf(format.ErrCorrupt, "%d values are left at its end", len(p.stack))
	}
	return v, p.c.Err()
}

// run executes one opcode.
func (p *pickle) run(op byte) {
	switch op {
	case opMark:
		p.charge(8)
		p.marks = append(p.marks, len(p.stack))
	case opPop:
		p.drop()
	case opPopMark:
		p.popMark()
	case opDup:
		v := p.top()
		p.push(v)
	case opReduce, opNewObj:
		args, ok := p.pop().(tuple)
		callee := p.pop()
		if p.c.Err() == nil && !ok {
			p.failf(format.ErrCorrupt, "arguments are no tuple")
		}
		p.push(p.call(callee, args))
	case opBuild:
		p.build(p.pop())
	case opBinPersID:
		p.push(p.persistent(p.pop()))
	case opGlobal, opStackGlobal:
		p.global(op)
	case opFrame:
		if n := p.c.U64("pickle"); p.c.Err() == nil && n > uint64(p.c.Left()) {
			p.failf(format.ErrTruncated, "a frame of %d bytes, %d are left", n, p.c.Left())
		}
	case opBinPut, opLongBinPut, opMemoize, opBinGet, opLongBinGet:
		p.remember(op)
	default:
		if !p.scalar(op) && !p.container(op) {
			p.failf(format.ErrUnsupported, "opcode %#x is none that torch.save writes", op)
		}
	}
}

// scalar executes opcodes that push numbers and strings.
func (p *pickle) scalar(op byte) bool {
	switch op {
	case opNone:
		p.push(nil)
	case opNewTrue, opNewFalse:
		p.push(op == opNewTrue)
	case opBinInt:
		p.push(int64(int32(p.c.U32("pickle"))))
	case opBinInt1:
		p.push(int64(p.c.U8("pickle")))
	case opBinInt2:
		p.push(int64(p.c.U16("pickle")))
	case opLong1:
		p.push(long(p.c.Bytes("pickle", uint64(p.c.U8("pickle")))))
	case opLong4:
		p.push(long(p.bytes(uint64(p.c.U32("pickle")))))
	case opBinFloat:
		if b := p.c.Bytes("pickle", 8); b != nil {
			p.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
	case opShortUnicode:
		p.text(uint64(p.c.U8("pickle")))
	case opBinUnicode:
		p.text(uint64(p.c.U32("pickle")))
	case opBinUnicode8:
		p.text(p.c.U64("pickle"))
	case opShortString: // of Python 2: text or bytes
		p.oldText(p.bytes(uint64(p.c.U8("pickle"))))
	case opBinString:
		p.oldText(p.bytes(uint64(p.c.U32("pickle"))))
	case opShortBinBytes:
		p.push(raw(p.c.Bytes("pickle", uint64(p.c.U8("pickle")))))
	case opBinBytes:
		p.push(raw(p.bytes(uint64(p.c.U32("pickle")))))
	case opBinBytes8, opByteArray8:
		p.push(raw(p.bytes(p.c.U64("pickle"))))
	default:
		return false
	}
	return true
}

func (p *pickle) bytes(n uint64) []byte { return p.c.Bytes("pickle", n) }

// text pushes a string of n bytes.
func (p *pickle) text(n uint64) {
	b := p.bytes(n)
	if p.c.Err() == nil && !utf8.Valid(b) {
		p.failf(format.ErrCorrupt, "a string is no UTF-8")
	}
	p.charge(int64(len(b)))
	if p.c.Err() == nil {
		p.push(string(b))
	}
}

// oldText pushes a string of Python 2, which may be bytes.
func (p *pickle) oldText(b []byte) {
	p.charge(int64(len(b)))
	if p.c.Err() == nil && utf8.Valid(b) {
		p.push(string(b))
	} else {
		p.push(raw(b))
	}
}

// container executes opcodes of tuples, lists, dicts and sets.
func (p *pickle) container(op byte) bool {
	switch op {
	case opEmptyTuple:
		p.push(tuple(nil))
	case opTuple1, opTuple2, opTuple3:
		p.push(p.tupleOf(int(op-opTuple1) + 1))
	case opTuple:
		p.push(tuple(p.popMark()))
	case opEmptyList:
		p.push(new(list))
	case opList:
		p.push(&list{p.popMark()})
	case opEmptyDict:
		p.push(new(dict))
	case opDict:
		d, items := new(dict), p.popMark()
		p.setItems(d, items)
		p.push(d)
	case opAppend:
		p.appendTo([]any{p.pop()})
	case opAppends:
		p.appendTo(p.popMark())
	case opSetItem:
		v, k := p.pop(), p.pop()
		p.setItems(p.top(), []any{k, v})
	case opSetItems:
		items := p.popMark()
		p.setItems(p.top(), items)
	case opEmptySet:
		p.push(opaque("set"))
	case opAddItems:
		p.popMark()
		p.top()
	case opFrozenSet:
		p.popMark()
		p.push(opaque("frozenset"))
	default:
		return false
	}
	return true
}

func (p *pickle) tupleOf(n int) tuple {
	t := make(tuple, n)
	for i := range t {
		t[n-1-i] = p.pop()
	}
	return t
}

func (p *pickle) appendTo(items []any) {
	l, ok := p.top().(*list)
	if p.c.Err() == nil && !ok {
		p.failf(format.ErrCorrupt, "elements are appended to what is no list")
	}
	if p.charge(16 * int64(len(items))); p.c.Err() == nil {
		l.items = append(l.items, items...)
	}
}

func (p *pickle) setItems(to any, items []any) {
	d, ok := to.(*dict)
	if p.c.Err() == nil && (!ok || len(items)%2 != 0) {
		p.failf(format.ErrCorrupt, "%d keys and values for what is %s", len(items), kindOf(to))
	}
	if p.charge(16 * int64(len(items))); p.c.Err() == nil {
		d.items = append(d.items, items...)
	}
}

// remember executes the opcodes of the memo.
func (p *pickle) remember(op byte) {
	var key uint32
	switch op {
	case opMemoize:
		key = uint32(len(p.memo))
	case opBinPut, opBinGet:
		key = uint32(p.c.U8("pickle"))
	default:
		key = p.c.U32("pickle")
	}
	if op == opBinGet || op == opLongBinGet {
		v, ok := p.memo[key]
		if p.c.Err() == nil && !ok {
			p.failf(format.ErrCorrupt, "nothing is remembered as %d", key)
		}
		p.push(v)
		return
	}
	p.charge(memoBytes)
	if v := p.top(); p.c.Err() == nil {
		p.memo[key] = v
	}
}

// global pushes one of the names that a pickle of tensors needs; any other ends it.
func (p *pickle) global(op byte) {
	var g global
	if op == opStackGlobal {
		name, ok := p.pop().(string)
		module, also := p.pop().(string)
		if p.c.Err() == nil && (!ok || !also) {
			p.failf(format.ErrCorrupt, "the name of a global is no string")
		}
		g = global{module, name}
	} else {
		g = global{p.line(), p.line()}
	}
	if p.c.Err() == nil && !g.known() {
		p.failf(format.ErrUnsupported, "it uses %s, which is none of the globals that tensors need and is not looked up", clip(g.module+"."+g.name))
	}
	p.push(g)
}

// line reads up to a newline.
func (p *pickle) line() string {
	var b strings.Builder
	for p.c.Err() == nil {
		c := p.c.U8("pickle")
		if c == '\n' {
			break
		}
		if b.Len() > maxGlobal {
			p.failf(format.ErrCorrupt, "the name of a global has more than %d bytes", maxGlobal)
		}
		b.WriteByte(c)
	}
	return b.String()
}

// maxGlobal bounds the module or the name of a global.
const maxGlobal = 1024

// push puts a value on the stack.
func (p *pickle) push(v any) {
	p.charge(objectBytes)
	if p.c.Err() == nil {
		p.stack = append(p.stack, v)
	}
}

// floor is where the values above the last mark begin.
func (p *pickle) floor() int {
	if len(p.marks) == 0 {
		return 0
	}
	return p.marks[len(p.marks)-1]
}

// pop takes the last value from the stack, but not one below a mark.
func (p *pickle) pop() any {
	v := p.top()
	if p.c.Err() == nil {
		p.stack = p.stack[:len(p.stack)-1]
	}
	return v
}

func (p *pickle) top() any {
	if p.c.Err() == nil && len(p.stack) <= p.floor() {
		p.failf(format.ErrCorrupt, "a value is missing on the stack")
	}
	if p.c.Err() != nil {
		return nil
	}
	return p.stack[len(p.stack)-1]
}

// drop is pop, of a mark where that is last.
func (p *pickle) drop() {
	if n := len(p.marks); n > 0 && p.marks[n-1] == len(p.stack) {
		p.marks = p.marks[:n-1]
		return
	}
	p.pop()
}

// popMark takes the values above the last mark, in memory of their own.
func (p *pickle) popMark() []any {
	n := len(p.marks)
	if p.c.Err() == nil && n == 0 {
		p.failf(format.ErrCorrupt, "a mark is missing on the stack")
	}
	if p.c.Err() != nil {
		return nil
	}
	at := p.marks[n-1]
	p.charge(16 * int64(len(p.stack)-at))
	items := append([]any(nil), p.stack[at:]...)
	p.stack, p.marks = p.stack[:at], p.marks[:n-1]
	return items
}

// long makes a number of little-endian two's complement; one beyond 64 bits is opaque.
func long(b []byte) any {
	if len(b) > 8 {
		return opaque(fmt.Sprintf("integer of %d bytes", len(b)))
	}
	var n uint64
	for i, c := range b {
		n |= uint64(c) << (8 * i)
	}
	if k := 64 - 8*len(b); k < 64 {
		return int64(n<<k) >> k
	}
	return int64(0)
}

// clip bounds text of a file in an error.
func clip(s string) string {
	if len(s) > 200 {
		s = s[:200] + "..."
	}
	return fmt.Sprintf("%q", s)
}

// errShape says that arguments are not those that torch writes.
var errShape = errors.New("not as torch.save writes it")
