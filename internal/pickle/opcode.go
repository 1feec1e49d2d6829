package pickle

import (
	"bytes"
	"math"
	"math/bits"

	"github.com/weightmap/weightmap/tensor"
)

// Run runs a pickle up to its STOP opcode and returns its object. Another pickle may follow.
func (m *Machine) Run() Ref {
	clear(m.memo)
	clear(m.far)
	m.memo = m.memo[:0]
	m.kept = 0
	m.stack = m.stack[:0]
	m.marks = append(m.marks[:0], 0)
	for m.ok() {
		m.at = m.c.Offset()
		op := m.c.U8("pickle")
		if !m.ok() {
			break
		}
		if op == '.' { // STOP
			r := m.pop()
			if len(m.stack) > 0 || len(m.marks) > 1 {
				m.failf(tensor.ErrCorrupt, "%d values are left at its end", len(m.stack))
			}
			if !m.ok() {
				break
			}
			return r
		}
		arg := uint64(0)
		if width := widths[op]; width > 0 {
			arg = m.number(uint64(width))
		}
		if m.ok() {
			m.execute(op, arg)
		}
	}
	return None
}

// widths has the sizes of the integers that follow opcodes: a number, the length of the bytes after
// it, or a key of the memo.
var widths = [256]uint8{
	0x80: 1, 'K': 1, 'M': 2, 'J': 4, 'G': 8, 0x8a: 1, 0x8b: 4, 0x8c: 1, 'X': 4, 0x8d: 8, 'U': 1, 'T': 4, 'C': 1, 'B': 4, 0x8e: 8, 0x96: 8,
	'q': 1, 'r': 4, 'h': 1, 'j': 4, 0x95: 8,
}

// isOpcode reports whether b is an opcode.
func isOpcode(b byte) bool {
	return widths[b] > 0 || bytes.IndexByte([]byte("N()]}aestuldo0123.cibRQPIFLSVpg\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98"), b) >= 0
}

// execute runs an opcode. Opcode names are those of Python's pickletools.
func (m *Machine) execute(op byte, arg uint64) {
	switch op {
	case 0x80: // PROTO
		if arg > 5 {
			m.failf(tensor.ErrUnsupported, "protocol %d, known are 0 to 5", arg)
		}
	case 'N': // NONE
		m.push(None)
	case 0x88: // NEWTRUE
		m.push(True)
	case 0x89: // NEWFALSE
		m.push(False)
	case 'J': // BININT
		m.integer(int64(int32(arg)))
	case 'K', 'M': // BININT1, BININT2
		m.integer(int64(arg))
	case 'I': // INT
		m.intText()
	case 'L': // LONG
		m.longText()
	case 0x8a, 0x8b: // LONG1, LONG4
		m.long(m.c.Bytes("pickle", arg))
	case 'G': // BINFLOAT
		m.float(math.Float64frombits(bits.ReverseBytes64(arg)))
	case 'F': // FLOAT
		m.floatText()
	case 0x8c, 'X', 0x8d: // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
		m.text(m.c.Bytes("pickle", arg))
	case 'V': // UNICODE
		m.unicode()
	case 'U', 'T': // SHORT_BINSTRING, BINSTRING
		m.oldText(m.c.Bytes("pickle", arg))
	case 'S': // STRING
		m.quoted()
	case 'C', 'B', 0x8e, 0x96: // SHORT_BINBYTES, BINBYTES, BINBYTES8, BYTEARRAY8
		b := m.c.Bytes("pickle", arg)
		if m.ok() {
			m.source(BytesKind, 0, len(b))
		}
	case 'q', 'r': // BINPUT, LONG_BINPUT
		m.put(arg)
	case 'p': // PUT
		m.put(m.key())
	case 'h', 'j': // BINGET, LONG_BINGET
		m.get(arg)
	case 'g': // GET
		m.get(m.key())
	case 0x94: // MEMOIZE
		m.put(uint64(m.kept))
	case 0x95: // FRAME
		if arg > uint64(m.c.Left()) {
			m.failf(tensor.ErrTruncated, "a frame of %d bytes, %d are left", arg, m.c.Left())
		}
	case ')': // EMPTY_TUPLE
		m.push(emptyTuple)
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		m.shortTuple(int(op - 0x84))
	case 't': // TUPLE
		m.tuple(m.popMark())
	case ']': // EMPTY_LIST
		m.pushNew(value{kind: ListKind})
	case 'l': // LIST
		m.container(ListKind, m.popMark())
	case 'a': // APPEND
		r := m.pop()
		m.append([]Ref{r}, false)
	case 'e': // APPENDS
		m.append(m.popMark(), false)
	case '}': // EMPTY_DICT
		m.pushNew(value{kind: DictKind})
	case 'd': // DICT
		m.dict(m.popMark())
	case 's': // SETITEM
		v := m.pop()
		k := m.pop()
		m.set([]Ref{k, v})
	case 'u': // SETITEMS
		m.set(m.popMark())
	case 0x8f: // EMPTY_SET
		m.pushNew(value{kind: SetKind})
	case 0x90: // ADDITEMS
		m.append(m.popMark(), true)
	case 0x91: // FROZENSET
		m.container(SetKind, m.popMark())
	case '(': // MARK
		m.mark()
	case '0': // POP; it pops the mark if that is on top
		if n := len(m.marks) - 1; n > 0 && int(m.marks[n]) == len(m.stack) {
			m.marks = m.marks[:n]
			return
		}
		m.pop()
	case '1': // POP_MARK
		m.popMark()
	case '2': // DUP
		m.push(m.top())
	case 'c': // GLOBAL
		m.global(m.names())
	case 0x93: // STACK_GLOBAL
		m.stackGlobal()
	case 'i': // INST
		m.inst()
	case 'o': // OBJ
		m.obj()
	case 'R', 0x81: // REDUCE, NEWOBJ
		args := m.pop()
		m.make(m.pop(), args, None)
	case 0x92: // NEWOBJ_EX
		kwargs := m.pop()
		args := m.pop()
		if m.values[kwargs].kind != DictKind {
			m.failf(tensor.ErrCorrupt, "the arguments by name are a value of type %.200q", m.KindOf(kwargs))
		}
		m.make(m.pop(), args, kwargs)
	case 'b': // BUILD
		m.build(m.pop())
	case 'Q': // BINPERSID
		m.pushNew(value{kind: PersistentKind, a: uint32(m.pop())})
	case 'P': // PERSID
		from := m.c.Offset()
		line := m.line(mostLine) // the id of a class has its source
		if m.ok() {
			m.keep(TextKind, 0, line, from)
			m.pushNew(value{kind: PersistentKind, a: uint32(m.pop())})
		}
	case 0x82, 0x83, 0x84: // EXT1, EXT2, EXT4
		m.failf(tensor.ErrUnsupported, "it uses a code of Python's extension registry, which is not in the file")
	case 0x97, 0x98: // NEXT_BUFFER, READONLY_BUFFER
		m.failf(tensor.ErrUnsupported, "it uses a buffer that is not in the file")
	default:
		m.failf(tensor.ErrUnsupported, "%#x is no opcode of protocols 0 to 5", op)
	}
}

func (m *Machine) integer(n int64) {
	m.pushNew(value{kind: IntKind, a: uint32(n), b: uint32(uint64(n) >> 32)})
}

func (m *Machine) float(f float64) {
	n := math.Float64bits(f)
	m.pushNew(value{kind: FloatKind, a: uint32(n), b: uint32(n >> 32)})
}

// long pushes a little-endian integer in two's complement.
func (m *Machine) long(b []byte) {
	switch {
	case len(b) == 9 && b[8] == 0 && b[7] >= 0x80:
		m.unsigned(uint64(signed(b[:8])))
	case len(b) > 8:
		m.pushNew(value{kind: LongKind, n: uint32(len(b))})
	default:
		m.integer(signed(b))
	}
}

// unsigned pushes an integer that only an unsigned one of 64 bits can be.
func (m *Machine) unsigned(n uint64) {
	m.pushNew(value{kind: LongKind, n: 9, a: uint32(n), b: uint32(n >> 32)})
}

// signed decodes up to 8 little-endian bytes in two's complement.
func signed(b []byte) int64 {
	var n int64
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | int64(b[i])
	}
	shift := 64 - 8*len(b)
	return n << shift >> shift
}

// shortTuple pushes a tuple of the last n values.
func (m *Machine) shortTuple(n int) {
	var values [3]Ref
	for i := n - 1; i >= 0; i-- {
		values[i] = m.pop()
	}
	if m.ok() {
		m.tuple(values[:n])
	}
}

// container pushes a list or set of values.
func (m *Machine) container(kind Kind, values []Ref) {
	r := m.add(value{kind: kind})
	if m.ok() {
		m.extend(r, values)
		m.push(r)
	}
}

// dict pushes a dict of alternating keys and values.
func (m *Machine) dict(values []Ref) {
	if len(values)%2 != 0 {
		m.failf(tensor.ErrCorrupt, "%d keys and values", len(values))
		return
	}
	m.container(DictKind, values)
}

// stackGlobal pushes the global whose module and name are on the stack.
func (m *Machine) stackGlobal() {
	name := m.pop()
	module := m.pop()
	if m.ok() && (m.values[name].kind != TextKind || m.values[module].kind != TextKind) {
		m.failf(tensor.ErrCorrupt, "the name of a global is of types %.200q and %.200q", m.KindOf(module), m.KindOf(name))
	}
	if !m.ok() {
		return
	}
	m.checkName(m.Text(module))
	m.checkName(m.Text(name))
	if !m.ok() {
		return
	}
	m.name = append(m.name[:0], m.Text(module)...)
	m.name = append(m.name, '\n')
	m.name = append(m.name, m.Text(name)...)
	m.global(m.name)
}

// names reads the two lines of a global.
func (m *Machine) names() []byte {
	from := m.c.Offset()
	m.line(mostGlobal)
	m.line(mostGlobal)
	if !m.ok() {
		return nil
	}
	return m.c.Window(from, m.c.Offset()-1)
}

func (m *Machine) checkName(b []byte) {
	if len(b) > mostGlobal {
		m.failf(tensor.ErrCorrupt, "the name of a global has more than %d bytes", mostGlobal)
	}
}

// inst makes an object of the class that follows, with the values above the mark.
func (m *Machine) inst() {
	m.name = append(m.name[:0], m.names()...)
	m.tuple(m.popMark())
	args := m.pop()
	m.global(m.name)
	m.make(m.pop(), args, None)
}

// obj makes an object of the class above the mark with the values above that.
func (m *Machine) obj() {
	values := m.popMark()
	if len(values) == 0 {
		m.failf(tensor.ErrCorrupt, "a value is missing on the stack")
		return
	}
	class := values[0]
	m.tuple(values[1:])
	m.make(class, m.pop(), None)
}
