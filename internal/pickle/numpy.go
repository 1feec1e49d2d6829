package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// arrayOf has the parts of a NumPy array.
type arrayOf struct {
	shape, dtype, data Ref
	fortran            bool // the first dim varies fastest
}

// array adds the array that a call makes, with its state.
func (w *Walk) array(c *call) error {
	m := w.m
	var a arrayOf
	switch {
	case c.role == fromBuffer && len(c.args) == 4:
		a = arrayOf{shape: c.arg(2), dtype: c.arg(1), data: c.arg(0), fortran: m.IsText(c.arg(3), "F")}
	case c.role == reconstruct:
		state := m.Items(c.object.state)
		if len(state) == 5 { // the first is a version
			state = state[1:]
		}
		if len(state) != 4 {
			return w.odd(c)
		}
		a = arrayOf{shape: Ref(state[0]), dtype: Ref(state[1]), data: Ref(state[3]), fortran: Ref(state[2]) == True}
		if n, isInt := m.Int(Ref(state[2])); isInt {
			a.fortran = n != 0
		}
	default:
		return w.odd(c)
	}
	t, ok := w.dtype(a.dtype)
	if !ok {
		return w.odd(c)
	}
	shape, ok := w.numbers(w.shape, a.shape)
	w.shape = shape
	if !ok {
		return w.m.Errorf(c.r, tensor.ErrCorrupt, "the shape of an array is not as NumPy writes it")
	}
	if t.code == "O" || t.code == "O8" || t.code == "O4" {
		return w.objects(c, a.data)
	}
	return w.data(c, a, t)
}

// odd finds what is in an array that is not as NumPy writes it: its parts.
func (w *Walk) odd(c *call) error {
	w.skip("numpy.ndarray that is not as NumPy writes it")
	if err := w.arguments(c.args); err != nil {
		return err
	}
	if c.role == reconstruct && c.object.state != None {
		return w.at(c.object.state, []byte("state"))
	}
	return nil
}

// objects finds what is in an array of objects. That of no dims has its only object as value.
func (w *Walk) objects(c *call, data Ref) error {
	if k := w.m.values[data].kind; k != ListKind && k != TupleKind {
		return w.odd(c)
	}
	if len(w.shape) == 0 && w.m.values[data].n == 1 {
		it := w.m.iterate(data)
		it.next()
		return w.value(it.r)
	}
	return w.inside(data, func() error { return w.items(data) })
}

// arrayType is a NumPy dtype.
type arrayType struct {
	code string // without the byte order
	elem *Elem  // nil for a type that is listed by its name
	big  bool
}

// dtype returns the dtype that r is.
func (w *Walk) dtype(r Ref) (t arrayType, ok bool) {
	m := w.m
	g := m.Class(r)
	if m.values[r].kind != ObjectKind || g == nil || g.role != dtypeRole {
		return t, false
	}
	args := m.Args(r)
	if len(args) == 0 {
		return t, false
	}
	code := Ref(args[0])
	switch m.values[code].kind {
	case TextKind, BytesKind:
		if len(m.Text(code)) >= 16 || !utf8.Valid(m.Text(code)) {
			return t, false
		}
		t.code = string(m.Text(code))
		t.elem = arrayTypes[t.code]
	case GlobalKind:
		g := m.Class(code)
		if g.role != dtypeName {
			return t, false
		}
		t.code = g.Name
		t.elem = g.elem
	default:
		return t, false
	}
	state := m.Items(m.objects[m.values[r].a].state)
	if len(state) > 1 {
		t.big = string(m.Text(Ref(state[1]))) == ">"
	}
	return t, true
}

// data adds an array whose elements are bytes.
func (w *Walk) data(c *call, a arrayOf, t arrayType) error {
	b, ok := w.m.blob(a.data)
	if !ok {
		return w.odd(c)
	}
	n := b.size
	p := w.f.Data(b.at, n, b.text)
	w.found = driver.Tensor{Shape: w.shape, Size: n}
	out := &w.found
	if t.elem == nil {
		order := "<"
		if t.big {
			order = ">"
		}
		name := order + t.code
		if a.fortran {
			name += ", fortran_order"
		}
		out.Encoding = &tensor.Encoding{Name: name}
		p.Extent = n
		p.Elem = 1
		if _, err := out.Shape.Elems(); err != nil {
			return w.m.Errorf(c.r, tensor.ErrCorrupt, "an array: %w", err)
		}
		return w.add(p)
	}
	size, err := t.elem.bytes(w.shape)
	if err != nil {
		return w.m.Errorf(c.r, tensor.ErrCorrupt, "an array: %w", err)
	}
	if size != n {
		return w.m.Errorf(c.r, tensor.ErrCorrupt, "an array of shape %v takes %d bytes, %d are stored", tensor.Shape(w.shape), size, n)
	}
	out.DType = t.elem.DType
	out.Encoding = t.elem.Enc
	p.Extent = size
	p.Elem = int(t.elem.Size)
	if t.big && t.elem.Word > 1 && size > 0 {
		p.Swap = t.elem.Word
	}
	if a.fortran && size > 0 {
		p.Stride = columns(w.shape)
	}
	return w.add(p)
}

// columns returns the strides of an array whose first dim varies fastest, or nil if that makes no
// difference.
func columns(shape []int64) []int64 {
	long := 0
	for _, d := range shape {
		if d > 1 {
			long++
		}
	}
	if long < 2 {
		return nil
	}
	strides := make([]int64, len(shape))
	n := int64(1)
	for i, d := range shape {
		strides[i] = n
		n *= d
	}
	return strides
}

// blob is a range of the input that has bytes as they are or, with a text, in the form of one.
type blob struct {
	at   int64 // file offset
	src  []byte
	size int64 // number of bytes
	text *zip.Text
}

// blob returns the bytes that r is. Texts are examined once, since many values may have the same.
func (m *Machine) blob(r Ref) (b blob, ok bool) {
	latin := false
	if m.values[r].kind == ObjectKind {
		if g := m.Class(r); g == nil || g.role != encode {
			return b, false
		}
		args := m.Args(r)
		if len(args) == 0 {
			return blob{at: m.base}, true
		}
		r = Ref(args[0])
		latin = m.values[r].kind == TextKind
	}
	v := m.values[r]
	if v.kind != BytesKind && v.kind != TextKind || v.kind == TextKind && v.flags&rawFlag == 0 && !latin {
		return b, false
	}
	at, asIs := m.offset(r)
	if asIs && !latin {
		return blob{at: at, src: m.Text(r), size: int64(v.n)}, true
	}
	b, known := m.blobs[r]
	if !known {
		b = m.newBlob(r, latin)
		if m.blobs == nil {
			m.blobs = make(map[Ref]blob)
		}
		if !m.charge(blobBytes) {
			return b, false
		}
		m.blobs[r] = b
	}
	return b, b.size >= 0
}

// blobBytes is the approximate memory of a blob in the map, with its text.
const blobBytes = 2*(8+56) + 48

// newBlob returns the bytes that are the characters of a text, or a string that is quoted. The size
// is -1 for a text with other characters.
func (m *Machine) newBlob(r Ref, latin bool) blob {
	b := blob{src: m.Text(r), size: int64(m.values[r].n)}
	decode := quotedBytes
	if latin {
		b.size = latin1Size(b.src)
		decode = latin1
	}
	var asIs bool
	if b.at, asIs = m.offset(r); !asIs {
		b.at, b.src = m.original(r)
		if latin {
			decode = escapedLatin1
		}
	}
	b.text = &zip.Text{Len: int64(len(b.src)), Size: b.size, Decode: decode}
	return b
}

// BytesAt returns the file offset of the bytes that r is, or of a text that has them.
func (m *Machine) BytesAt(r Ref) (at int64, ok bool) {
	b, ok := m.blob(r)
	return b.at, ok
}

// Bytes returns the bytes that r is, and their place. They may alias the input.
func (m *Machine) Bytes(r Ref, f Finder) ([]byte, zip.Place, error) {
	b, ok := m.blob(r)
	if !ok {
		return nil, zip.Place{}, m.Errorf(r, tensor.ErrCorrupt, "a value of type %.200q is no bytes", m.KindOf(r))
	}
	p := f.Data(b.at, b.size, b.text)
	if b.text == nil {
		return b.src, p, nil
	}
	if !m.charge(b.size) {
		return nil, p, m.Err()
	}
	out := make([]byte, b.size)
	return out, p, b.text.Decode(out, b.src)
}

// latin1Size returns the number of bytes whose characters b is, or -1 if a character is none.
func latin1Size(b []byte) int64 {
	n := int64(0)
	for i := 0; i < len(b); n++ {
		switch {
		case b[i] < utf8.RuneSelf:
			i++
		case (b[i] == 0xc2 || b[i] == 0xc3) && i+1 < len(b) && b[i+1]&0xc0 == 0x80:
			i += 2
		default:
			return -1
		}
	}
	return n
}

// latin1 decodes a text whose characters are bytes into dst, which has their number.
func latin1(dst, text []byte) error {
	n := 0
	for _, r := range string(text) {
		if r > 0xff || n == len(dst) {
			return fmt.Errorf("%w: a text is not of %d bytes", tensor.ErrCorrupt, len(dst))
		}
		dst[n] = byte(r)
		n++
	}
	if n != len(dst) {
		return fmt.Errorf("%w: a text is not of %d bytes", tensor.ErrCorrupt, len(dst))
	}
	return nil
}

// escapedLatin1 is latin1 for a line that unicode reads.
func escapedLatin1(dst, line []byte) error {
	text, err := unescapeUnicode(line)
	if err != nil {
		return fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)
	}
	return latin1(dst, text)
}

// quotedBytes decodes a quoted string of Python 2 into dst, which has its size.
func quotedBytes(dst, line []byte) error {
	b, err := unquote(line)
	if err != nil {
		return fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)
	}
	if len(b) != len(dst) {
		return fmt.Errorf("%w: a text is not of %d bytes", tensor.ErrCorrupt, len(dst))
	}
	copy(dst, b)
	return nil
}

// scalar adds a NumPy scalar, of a dtype and the bytes of one element, to the metadata.
func (w *Walk) scalar(c *call) error {
	m := w.m
	t, ok := w.dtype(c.arg(0))
	var word [8]byte
	b, isShort := w.short(c.arg(1), word[:0])
	if !ok || len(c.args) != 2 || !isShort || t.elem == nil || t.elem.Size != int64(len(b)) || len(t.code) != 2 {
		w.skip(m.KindOf(c.r))
		return nil
	}
	if t.big {
		slices.Reverse(b)
	}
	bits := binary.LittleEndian.Uint64(word[:])
	switch {
	case t.code == "f8":
		return w.plain(math.Float64frombits(bits))
	case t.code == "f4":
		return w.plain(float64(math.Float32frombits(uint32(bits))))
	case t.code == "f2":
		return w.plain(float64(tensor.F16(bits).Float32()))
	case t.code == "b1":
		return w.plain(bits != 0)
	case t.code[0] == 'i':
		return w.plain(signed(b))
	case t.code[0] == 'u' && int64(bits) >= 0:
		return w.plain(int64(bits))
	}
	w.skip("numpy." + t.code)
	return nil
}

// short appends the bytes that r is to b, if they fit.
func (w *Walk) short(r Ref, b []byte) (out []byte, ok bool) {
	from, ok := w.m.blob(r)
	if !ok || from.size > int64(cap(b)) {
		return b, false
	}
	if from.text == nil {
		return append(b, from.src...), true
	}
	b = b[:from.size]
	return b, from.text.Decode(b, from.src) == nil
}
