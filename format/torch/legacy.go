package torch

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pickle"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
)

// root is a storage of the legacy container, of which others may be views.
type root struct {
	elem  *pickle.Elem
	count int64 // number of elements
	store int   // index of the store, or -1 if the container does not have it
	from  int64 // offset of the first element in the store
}

// rootBytes is the approximate memory of a root, with its key and its place in the map.
const rootBytes = 2 * (16 + 40 + 8)

// The pickles of the legacy container.
const (
	magicPickle = iota
	versionPickle
	systemPickle
	objectPickle
	keysPickle
	legacyPickles
)

// legacyFile is a legacy container while it is parsed.
type legacyFile struct {
	m     *pickle.Machine
	parts [legacyPickles]pickle.Ref
	at    [legacyPickles + 1]int64 // where the pickles begin, and the storages
}

// parseLegacy parses the legacy container: pickles of a magic number, the protocol, the system, the
// object and the keys of the storages, then each storage after its element count.
func (p *parser) parseLegacy() error {
	p.index.Version = "legacy"
	p.file.Plain = true
	h := driver.ReadHead(p.file.Src, p.opts)
	h.Expect(64 << 10)
	size := p.file.Src.Size()
	m := pickle.New(wire.HeadRecord("", h, 0, size), 0, -1, p.opts.Memory)
	defer m.Release()
	err := p.readLegacy(m)
	closed := h.Close(m.Offset())
	if err != nil {
		return err
	}
	return closed
}

// runLegacy runs the pickles of a legacy container.
func runLegacy(m *pickle.Machine) (*legacyFile, error) {
	l := &legacyFile{m: m}
	for i := range l.parts {
		l.at[i] = m.Offset()
		l.parts[i] = m.Run()
	}
	l.at[legacyPickles] = m.Offset()
	err := m.Err()
	if err != nil {
		return nil, err
	}
	version, _ := m.Int(l.parts[versionPickle]) // 0 if it is no integer
	if version != legacyProtocol {
		return nil, wire.Errorf("", "protocol version", l.at[versionPickle], format.ErrVersion,
			"%d, known is %d", version, legacyProtocol)
	}
	if m.Kind(l.parts[keysPickle]) != pickle.ListKind {
		return nil, wire.Errorf("", "storage keys", l.at[keysPickle], format.ErrCorrupt,
			"they are %s, not a list", m.KindOf(l.parts[keysPickle]))
	}
	return l, nil
}

// legacyProtocol is the version of torch.save's older container.
const legacyProtocol = 1001

// readLegacy runs the pickles, and finds the storages and what is in the object.
func (p *parser) readLegacy(m *pickle.Machine) error {
	l, err := runLegacy(m)
	if err != nil {
		return err
	}
	p.held = zip.Entry{File: p.file, Stored: l.at[keysPickle], Size: l.at[keysPickle]}
	size := p.file.Src.Size()
	end, err := p.legacyStores(l, p.file.Src, size, func(at, size int64) (int, int64) {
		return p.addStore(zip.Entry{File: p.file, At: at, Stored: size, Size: size}), 0
	})
	if err != nil {
		return err
	}
	if end < size {
		p.notes = append(p.notes, fmt.Sprintf("%d bytes follow the last storage", size-end))
	}
	return p.walk.Find(m, l.parts[objectPickle], l.at[keysPickle]-l.at[objectPickle], "")
}

// legacyStores finds the storages after the pickles, in the order of their keys, in a container of
// size bytes. place returns the store, and the offset in it, for a range of the container. It
// returns the end of the last storage.
func (p *parser) legacyStores(l *legacyFile, src io.ReaderAt, size int64,
	place func(at, size int64) (store int, from int64)) (end int64, err error) {
	p.old = make(map[string]root)
	err = l.m.Persistent(func(id pickle.Ref) error { return p.addRoot(l.m, id) })
	if err != nil {
		return 0, err
	}
	keys := l.parts[keysPickle]
	at := l.at[legacyPickles]
	err = p.opts.Memory.Reserve(int64(l.m.Len(keys)) * storeBytes)
	if err != nil {
		return 0, wire.Error("", "storage keys", at, err)
	}
	err = l.m.Each(keys, func(_ int, k pickle.Ref) error {
		key := string(l.m.Text(k))
		dataAt, err := p.legacyStore(key, src, at, size)
		if err != nil {
			return err
		}
		s := p.old[key]
		bytes := s.count * s.elem.Size
		s.store, s.from = place(dataAt, bytes)
		p.old[key] = s
		at = dataAt + bytes
		return nil
	})
	return at, err
}

// legacyStore checks the storage of a key, which is at an offset of a container of size bytes, and
// returns where its elements begin.
func (p *parser) legacyStore(key string, src io.ReaderAt, at, size int64) (dataAt int64, err error) {
	err = p.opts.Context.Err()
	if err != nil {
		return 0, err
	}
	s, known := p.old[key]
	switch {
	case !known:
		return 0, wire.Errorf("", "storage keys", at, format.ErrCorrupt, "no tensor is in storage %.200q",
			key)
	case s.store >= 0:
		return 0, wire.Errorf("", "storage keys", at, format.ErrCorrupt, "storage %.200q occurs twice", key)
	}
	var b [8]byte
	dataAt = at + int64(len(b))
	if dataAt > size {
		return 0, wire.Errorf("", "storage count", at, format.ErrTruncated, "needs 8 bytes, %d are left",
			size-at)
	}
	_, err = src.ReadAt(b[:], at)
	if err != nil {
		return 0, err
	}
	count := binary.LittleEndian.Uint64(b[:])
	if count != uint64(s.count) {
		return 0, wire.Errorf("", "storage count", at, format.ErrCorrupt,
			"%d elements in storage %.200q, the pickle says %d", count, key, s.count)
	}
	bytes := s.count * s.elem.Size
	if bytes > size-dataAt {
		return 0, wire.Errorf("", "storage", dataAt, format.ErrTruncated,
			"storage %.200q has %d bytes, %d are left", key, bytes, size-dataAt)
	}
	return dataAt, nil
}

// addRoot remembers the storage of a persistent id, which may occur several times.
func (p *parser) addRoot(m *pickle.Machine, id pickle.Ref) error {
	s, err := parseID(m, id, true)
	if err != nil || s.elem == nil {
		return err
	}
	before, known := p.old[string(s.key)]
	if known && (before.elem.Size != s.elem.Size || before.count != s.count) {
		return m.Errorf(id, format.ErrCorrupt, "storage %.200q has %d elements here, %d before", s.key,
			s.count, before.count)
	}
	if known {
		return nil
	}
	err = p.opts.Memory.Reserve(rootBytes + int64(len(s.key)))
	if err != nil {
		return m.Errorf(id, format.ErrLimit, "storages: %w", err)
	}
	p.old[string(s.key)] = root{elem: s.elem, count: s.count, store: -1}
	return nil
}
