package torch

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/pickle"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
)

// storageID is the persistent id of a storage.
type storageID struct {
	elem  *pickle.Elem // nil for an unknown class, and for an id that is not of a storage
	key   []byte
	count int64 // of elements
	// A view has elements of a storage from the index first on.
	first, elems int64
}

// parseID parses a persistent id: ("storage", class, key, location, count). In the legacy container
// a sixth value is None or the (key, offset, count) of a view, and ("module", class, file, source)
// stands for a class.
func parseID(m *pickle.Machine, r pickle.Ref, legacy bool) (storageID, error) {
	var id storageID
	if m.Kind(m.ID(r)) == pickle.TextKind {
		return parseText(m, r)
	}
	t := m.Items(m.ID(r))
	if legacy && len(t) == 4 && m.IsText(pickle.Ref(t[0]), "module") {
		return id, nil
	}
	if len(t) != 5 && !(legacy && len(t) == 6) || !m.IsText(pickle.Ref(t[0]), "storage") {
		return id, m.Errorf(r, format.ErrCorrupt,
			"a persistent id of type %.200q with %d values is not as torch.save writes it",
			m.KindOf(m.ID(r)), len(t))
	}
	class := pickle.Ref(t[1])
	count, isInt := m.Int(pickle.Ref(t[4]))
	key := pickle.Ref(t[2])
	if m.Kind(class) != pickle.GlobalKind || m.Kind(key) != pickle.TextKind || !isInt || count < 0 {
		return id, m.Errorf(r, format.ErrCorrupt, "a persistent id is not as torch.save writes it")
	}
	id.elem = m.Class(class).Elem()
	if id.elem == nil {
		return id, nil
	}
	if count > math.MaxInt64/id.elem.Size {
		return id, m.Errorf(r, format.ErrCorrupt,
			"a persistent id of %d elements is not as torch.save writes it", count)
	}
	id.key = m.Text(key)
	id.count = count
	id.elems = count
	if len(t) < 6 || pickle.Ref(t[5]) == pickle.None {
		return id, nil
	}
	return parseView(m, r, pickle.Ref(t[5]), id)
}

// parseView parses the view of a persistent id in the legacy container.
func parseView(m *pickle.Machine, r, view pickle.Ref, id storageID) (storageID, error) {
	t := m.Items(view)
	if len(t) != 3 {
		return id, m.Errorf(r, format.ErrCorrupt,
			"the view of a persistent id is not as torch.save writes it")
	}
	first, isFirst := m.Int(pickle.Ref(t[1]))
	elems, isElems := m.Int(pickle.Ref(t[2]))
	if !isFirst || !isElems || first < 0 || elems < 0 || first > id.count-elems {
		return id, m.Errorf(r, format.ErrCorrupt, "the view of a persistent id leaves its storage")
	}
	id.first = first
	id.elems = elems
	return id, nil
}

// parseText parses a persistent id of protocol 0, which is what Python prints for the tuple, as in
//
//	('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 6)
//
// with None behind it in the legacy container.
func parseText(m *pickle.Machine, r pickle.Ref) (storageID, error) {
	text := string(m.Text(m.ID(r)))
	if strings.HasPrefix(text, "('module', ") {
		return storageID{}, nil
	}
	rest, isStorage := strings.CutPrefix(text, "('storage', <class '")
	class, rest, _ := strings.Cut(rest, "'>, '")
	key, rest, _ := strings.Cut(rest, "', '")
	_, rest, _ = strings.Cut(rest, "', ")
	digits := strings.TrimSuffix(strings.TrimSuffix(rest, ")"), ", None")
	count, err := strconv.ParseInt(digits, 10, 64)
	dot := strings.LastIndexByte(class, '.')
	if !isStorage || err != nil || count < 0 || dot < 0 {
		return storageID{}, m.Errorf(r, format.ErrCorrupt,
			"a persistent id of type \"str\" is not as torch.save writes it")
	}
	id := storageID{
		elem:  pickle.StorageElem(class[:dot], class[dot+1:]),
		key:   []byte(key),
		count: count,
		elems: count,
	}
	if id.elem != nil && count > math.MaxInt64/id.elem.Size {
		return id, m.Errorf(r, format.ErrCorrupt,
			"a persistent id of %d elements is not as torch.save writes it", count)
	}
	return id, nil
}

// Storage implements pickle.Finder.
func (p *parser) Storage(m *pickle.Machine, ref pickle.Ref) (pickle.Storage, error) {
	if m.Kind(ref) != pickle.PersistentKind {
		return p.nestedStorage(m, ref)
	}
	id, err := parseID(m, ref, p.old != nil)
	if err != nil || id.elem == nil {
		return pickle.Storage{}, err
	}
	s := pickle.Storage{Elem: id.elem, Count: id.elems, Big: p.big && p.old == nil}
	if p.old == nil {
		s.Place, err = p.placeStorage(m, ref, &id)
		return s, err
	}
	root := p.old[string(id.key)]
	if root.store < 0 || root.elem == nil {
		return s, missing(m, ref, id.key)
	}
	s.Place = zip.Place{Store: root.store, From: root.from + id.first*id.elem.Size}
	return s, nil
}

// placeStorage finds the entry or the file of a storage.
func (p *parser) placeStorage(m *pickle.Machine, ref pickle.Ref, id *storageID) (zip.Place, error) {
	i, ok := p.keys[string(id.key)]
	switch {
	case p.folder != nil:
		opened, err := p.openStore(m, ref, string(id.key))
		if err != nil {
			return zip.Place{}, err
		}
		i = opened
	case !ok && p.file.Plain:
		return zip.Place{}, m.Errorf(ref, format.ErrUnsupported,
			"a tensor is in storage %.200q, which is another file: "+
				"this is the %s of an archive that was unpacked; open its directory", id.key, pickleName)
	case !ok:
		return zip.Place{}, missing(m, ref, id.key)
	}
	e := &p.tensors.Stores[i]
	size := id.elem.Size
	if id.count > e.Size/size {
		what := fmt.Sprintf("storage %.200q", id.key)
		if p.folder != nil {
			what = "the file " + e.Src.Path()
		}
		return zip.Place{}, m.Errorf(ref, format.ErrTruncated,
			"%s has %d bytes, %d elements of %d bytes are in it", what, e.Size, id.count, size)
	}
	return zip.Place{Store: i}, nil
}

func missing(m *pickle.Machine, r pickle.Ref, key []byte) error {
	return m.Errorf(r, format.ErrCorrupt, "a tensor is in storage %.200q, which is missing", key)
}

// nestedStorage returns a storage that is in the pickle: bytes that torch.save wrote in the legacy
// container.
func (p *parser) nestedStorage(m *pickle.Machine, ref pickle.Ref) (pickle.Storage, error) {
	args := m.Args(ref)
	if !m.Class(ref).LoadsBytes() || len(args) != 1 {
		return pickle.Storage{}, m.Errorf(ref, format.ErrCorrupt,
			"a tensor over a value of type %.200q is not as torch.save writes it", m.KindOf(ref))
	}
	at, isBytes := m.BytesAt(pickle.Ref(args[0]))
	s, known := p.nested[at]
	if known && isBytes {
		return s, nil
	}
	b, place, err := m.Bytes(pickle.Ref(args[0]), p)
	if err != nil {
		return pickle.Storage{}, err
	}
	if !isLegacy(b) {
		return pickle.Storage{}, m.Errorf(ref, format.ErrUnsupported,
			"a storage in the pickle begins with % x, not with the number of torch.save's older container",
			b[:min(len(b), 8)])
	}
	s, err = p.readNested(b, place)
	if err != nil {
		return pickle.Storage{}, m.Errorf(ref, format.ErrCorrupt, "a storage in the pickle: %w", err)
	}
	if p.nested == nil {
		p.nested = make(map[int64]pickle.Storage)
	}
	err = p.opts.Memory.Reserve(storeBytes)
	if err != nil {
		return s, m.Errorf(ref, format.ErrLimit, "storages: %w", err)
	}
	p.nested[at] = s
	return s, nil
}

// readNested reads a legacy container with one storage, which is at place. Its errors have offsets
// from the beginning of the bytes, as these may be a text.
func (p *parser) readNested(b []byte, place zip.Place) (pickle.Storage, error) {
	inner := pickle.New(wire.NewRecord("", b, 0), 0, int64(len(b)), p.opts.Memory)
	defer inner.Release()
	l, err := runLegacy(inner)
	if err != nil {
		return pickle.Storage{}, err
	}
	outer := p.old
	defer func() { p.old = outer }()
	inStore := func(at, _ int64) (int, int64) { return place.Store, place.From + at }
	_, err = p.legacyStores(l, bytes.NewReader(b), int64(len(b)), inStore)
	if err != nil {
		return pickle.Storage{}, err
	}
	object := l.parts[objectPickle]
	if inner.Kind(object) != pickle.PersistentKind {
		return pickle.Storage{}, fmt.Errorf("%w: a value of type %.200q", format.ErrUnsupported,
			inner.KindOf(object))
	}
	s, err := p.Storage(inner, object)
	s.Place.Text = place.Text
	return s, err
}
