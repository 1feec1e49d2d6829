package pickle

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// Limits of a walk.
const (
	maxRank  = 64
	maxDepth = 1000
	maxName  = 1 << 16
	// The paths to values, and the bytes of names, by the size of the pickle in the file.
	pathFloor, pathRatio = 1 << 16, 1
	nameFloor, nameRatio = 16 << 20, 16
	// The bytes of keys, whether or not they become names.
	keyFloor, keyRatio = 64 << 20, 64
)

// nameBytes is the memory of an entry of the metadata, without its texts.
const nameBytes = 2*32 + 8

// Storage is a block of elements that tensors share.
type Storage struct {
	Elem  *Elem     // nil for a class whose elements have no known type
	Count int64     // of elements
	Place zip.Place // of its bytes; From is that of the first element
	Big   bool      // the elements are big-endian
}

// Finder receives what a Walk finds.
type Finder interface {
	// Storage returns the storage that r is.
	Storage(m *Machine, r Ref) (Storage, error)
	// Data returns the place of bytes of the pickle: n bytes from offset at of the file, or what
	// the text there decodes to.
	Data(at, n int64, text *zip.Text) zip.Place
	// Tensor adds a tensor. It reports whether the name is taken, and then did not.
	Tensor(t *driver.Tensor, p zip.Place) (taken bool, err error)
}

// Walk finds the tensors and plain values that a value consists of.
type Walk struct {
	Metadata schema.Metadata
	Notes    []string
	Tensors  int // number found

	f      Finder
	m      *Machine
	memory *driver.Memory
	root   string // the name of a lone tensor
	start  Ref
	budget int64 // size of the pickle in the file

	path    []byte
	depth   int
	visits  int64
	named   int64          // bytes of names so far
	keyed   int64          // bytes of keys so far
	texts   map[Ref]string // the long ones, which many values may have
	once    bool           // there are too many paths: containers are entered once
	skipped int            // containers that were not entered again
	missing []skip
	dups    map[string]int // names that occur more than once, by the last number
	renamed []string       // the first of these
	copies  int            // their number
	found   driver.Tensor  // the current one
	strides []int64
	shape   []int64
}

// skip counts the ignored values of one kind.
type skip struct {
	kind  string
	first string // path of the first one
	n     int
}

// RootName returns the name of a tensor that is the whole object: that of the file without its
// extension, or "tensor".
func RootName(path string) string {
	s := filepath.Base(path)
	s = strings.TrimSuffix(s, filepath.Ext(s))
	if path == "" || tensor.CheckName(s) != nil {
		return "tensor"
	}
	return s
}

// NewWalk returns a walk whose lone tensors have the name root.
func NewWalk(f Finder, memory *driver.Memory, root string) *Walk {
	return &Walk{f: f, memory: memory, root: root}
}

// Find finds what is in the value r of a machine, whose pickle has stored bytes in the file. Names
// begin with prefix, if that is not "".
func (w *Walk) Find(m *Machine, r Ref, stored int64, prefix string) error {
	w.m = m
	w.start = r
	w.budget = stored
	w.path = append(w.path[:0], prefix...)
	w.depth = 0
	w.visits = 0
	w.named = 0
	w.keyed = 0
	w.once = false
	w.texts = make(map[Ref]string)
	if err := w.value(r); err != nil {
		return err
	}
	if note := m.Note(); note != "" {
		w.Notes = append(w.Notes, note)
	}
	return nil
}

// Finish adds the notes that count values.
func (w *Walk) Finish() {
	for _, s := range w.missing {
		w.Notes = append(w.Notes, fmt.Sprintf("not shown: %d of type %s, the first at %.200q", s.n, s.kind, s.first))
	}
	switch {
	case w.copies == 1:
		w.Notes = append(w.Notes, "1 tensor has the name of another and got a number: "+listOf(w.renamed, 1))
	case w.copies > 1:
		w.Notes = append(w.Notes, fmt.Sprintf("%d tensors have the name of another and got a number: %s", w.copies, listOf(w.renamed, w.copies)))
	}
	if w.skipped > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("values are reached by too many paths: %d of them are shown only where they were reached first", w.skipped))
	}
}

// listOf lists the first names of count.
func listOf(first []string, count int) string {
	text := fmt.Sprintf("%.200q", first)
	if more := count - len(first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (w *Walk) errorf(sentinel error, text string, args ...any) error {
	return w.m.Errorf(w.start, sentinel, text, args...)
}

// value finds what is in r, which is at the current path. A pickle may refer to a value any number
// of times: if there are too many paths, it is entered once from then on, so that no tensor is left
// out.
func (w *Walk) value(r Ref) error {
	w.visits++
	if w.visits > pathFloor+pathRatio*w.budget || w.named > (nameFloor+nameRatio*w.budget)/2 || w.keyed > (keyFloor+keyRatio*w.budget)/2 {
		w.once = true
	}
	m := w.m
	v := &m.values[r]
	switch v.kind {
	case BoolKind:
		return w.plain(r == True)
	case IntKind:
		n, _ := m.Int(r)
		return w.plain(n)
	case LongKind:
		n, isUint := m.Uint(r)
		if isUint {
			return w.plain(schema.Number(n))
		}
	case FloatKind:
		return w.plain(m.Float(r))
	case TextKind:
		return w.shared(r)
	case TupleKind, ListKind, SetKind:
		return w.inside(r, func() error { return w.items(r) })
	case DictKind:
		return w.inside(r, func() error { return w.entries(r) })
	case ObjectKind:
		return w.inside(r, func() error { return w.object(r) })
	}
	w.skip(m.KindOf(r))
	return nil
}

// inside calls f for a value that has others in it.
func (w *Walk) inside(r Ref, f func() error) error {
	v := &w.m.values[r]
	switch {
	case v.flags&openFlag != 0:
		w.skip("value that contains itself")
		return nil
	case w.once && v.flags&seenFlag != 0:
		w.skipped++
		return nil
	case w.depth == maxDepth:
		return w.errorf(tensor.ErrLimit, "values are nested deeper than %d", maxDepth)
	}
	v.flags |= openFlag | seenFlag
	w.depth++
	err := f()
	w.depth--
	v.flags &^= openFlag
	return err
}

// at calls value for r, whose path has one more element, text.
func (w *Walk) at(r Ref, text []byte) error {
	n := len(w.path)
	if n+len(text) > maxName {
		return w.errorf(tensor.ErrLimit, "values have names longer than %d bytes", maxName)
	}
	w.keyed += int64(len(text))
	if w.keyed > keyFloor+keyRatio*w.budget {
		return w.errorf(tensor.ErrLimit, "its keys have more than %d bytes", w.keyed-1)
	}
	if n > 0 {
		w.path = append(w.path, '.')
	}
	w.path = append(w.path, text...)
	err := w.value(r)
	w.path = w.path[:n]
	return err
}

// items finds what is in the values of a tuple, list or set, which have their positions as names.
func (w *Walk) items(r Ref) error {
	for it := w.m.iterate(r); it.next(); {
		if err := w.position(it.i, it.r); err != nil {
			return err
		}
	}
	return nil
}

func (w *Walk) position(i int, r Ref) error {
	var digits [20]byte
	return w.at(r, strconv.AppendInt(digits[:0], int64(i), 10))
}

// entries finds what is in the values of a dict, which have their keys as names.
func (w *Walk) entries(r Ref) error {
	for it := w.m.iterate(r); it.next(); {
		key := it.r
		if !it.next() {
			break
		}
		if err := w.entry(key, it.r, it.i/2); err != nil {
			return err
		}
	}
	return nil
}

// entry finds what is in the value of entry i of a dict.
func (w *Walk) entry(key, r Ref, i int) error {
	if w.m.values[key].kind == TextKind {
		if b := w.m.Text(key); isName(b) {
			return w.at(r, b)
		}
	}
	var scratch [64]byte
	return w.at(r, w.keyName(scratch[:0], key, i))
}

// isName reports whether a key is an element of names as it is.
func isName(b []byte) bool { return utf8.Valid(b) && !slices.Contains(b, 0) }

// keyName appends the name of the key of entry i as Python prints it, or else ?i.
func (w *Walk) keyName(b []byte, key Ref, i int) []byte {
	m := w.m
	switch m.values[key].kind {
	case NoneKind:
		return append(b, "None"...)
	case BoolKind:
		if key == True {
			return append(b, "True"...)
		}
		return append(b, "False"...)
	case IntKind:
		n, _ := m.Int(key)
		return strconv.AppendInt(b, n, 10)
	case LongKind:
		n, isUint := m.Uint(key)
		if isUint {
			return strconv.AppendUint(b, n, 10)
		}
	case FloatKind:
		return appendFloat(b, m.Float(key))
	case BytesKind, ObjectKind: // bytes are objects up to protocol 2
		if text := m.keyBytes(key); isName(text) && text != nil {
			return append(b, text...)
		}
	}
	b = append(b, '?')
	return strconv.AppendInt(b, int64(i), 10)
}

// keyBytes returns the bytes that a key is, or nil.
func (m *Machine) keyBytes(key Ref) []byte {
	b, ok := m.blob(key)
	if !ok || b.size > maxName {
		return nil
	}
	if b.text == nil {
		return b.src
	}
	out := make([]byte, b.size)
	if b.text.Decode(out, b.src) != nil {
		return nil
	}
	return out
}

// appendFloat appends a float as Python prints it.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case f != f:
		return append(b, "nan"...)
	case f-f != 0 && f > 0:
		return append(b, "inf"...)
	case f-f != 0:
		return append(b, "-inf"...)
	}
	if a := max(f, -f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	from := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if !slices.Contains(b[from:], '.') {
		b = append(b, ".0"...)
	}
	return b
}

// plain adds a value to the metadata.
func (w *Walk) plain(v any) error {
	name, err := w.name()
	if err != nil {
		return err
	}
	w.Metadata = append(w.Metadata, schema.Entry{Key: string(name), Value: v})
	return nil
}

// longText is the length from which a text is in memory once, however many values it is.
const longText = 64

// shared adds the text r to the metadata.
func (w *Walk) shared(r Ref) error {
	b := w.m.Text(r)
	if len(b) < longText {
		return w.text(b)
	}
	text, known := w.texts[r]
	if !known {
		if !utf8.Valid(b) {
			w.texts[r] = ""
			w.skip(surrogate)
			return nil
		}
		if err := w.memory.Reserve(int64(len(b)) + nameBytes); err != nil {
			return w.errorf(tensor.ErrLimit, "a text: %w", err)
		}
		text = string(b)
		w.texts[r] = text
	}
	if text == "" {
		w.skip(surrogate)
		return nil
	}
	return w.plain(text)
}

const surrogate = "str with a lone surrogate"

// text adds a text to the metadata. It counts as a name.
func (w *Walk) text(b []byte) error {
	if !utf8.Valid(b) {
		w.skip(surrogate)
		return nil
	}
	if err := w.memory.Reserve(int64(len(b))); err != nil {
		return w.errorf(tensor.ErrLimit, "a text: %w", err)
	}
	w.named += int64(len(b))
	return w.plain(string(b))
}

// name returns the current path as a name, which is valid until the path changes. The total size of
// names is limited.
func (w *Walk) name() ([]byte, error) {
	name := w.path
	if len(name) == 0 {
		name = []byte(w.root)
	}
	size := int64(len(name)) + nameBytes
	w.named += size
	if w.named > nameFloor+nameRatio*w.budget {
		return nil, w.errorf(tensor.ErrLimit, "its names have more than %d bytes", w.named-1)
	}
	if err := w.memory.Reserve(size); err != nil {
		return nil, w.errorf(tensor.ErrLimit, "its names: %w", err)
	}
	return name, nil
}

// mostSkipped limits the number of kinds that notes name.
const mostSkipped = 16

// skip counts a value that is not shown.
func (w *Walk) skip(kind string) {
	i := slices.IndexFunc(w.missing, func(s skip) bool { return s.kind == kind })
	switch {
	case i >= 0:
		w.missing[i].n++
	case len(w.missing) < mostSkipped:
		w.missing = append(w.missing, skip{kind, string(w.path), 1})
	}
}

// mostListed limits the number of names in a note.
const mostListed = 5

// add adds the tensor that was found at the current path. If its name is taken, it gets a number.
func (w *Walk) add(p zip.Place) error {
	t := &w.found
	name, err := w.name()
	if err != nil {
		return err
	}
	t.Name = name
	w.Tensors++
	taken, err := w.f.Tensor(t, p)
	if err != nil || !taken {
		return err
	}
	if w.dups == nil {
		w.dups = make(map[string]int)
	}
	n := max(w.dups[string(name)], 1)
	for taken {
		n++
		t.Name = strconv.AppendInt(append(slices.Clone(name), '#'), int64(n), 10)
		if taken, err = w.f.Tensor(t, p); err != nil {
			return err
		}
	}
	if err := w.memory.Reserve(int64(len(name)) + nameBytes); err != nil {
		return w.errorf(tensor.ErrLimit, "its names: %w", err)
	}
	w.dups[string(name)] = n
	w.copies++
	if len(w.renamed) < mostListed {
		w.renamed = append(w.renamed, string(t.Name))
	}
	return nil
}
