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
func (r *reading) parseLegacy() error {
	r.x.Version = "legacy"
	r.file.Plain = true
	h := driver.ReadHead(r.file.Src, r.o)
	h.Expect(64 << 10)
	size := r.file.Src.Size()
	m := pickle.New(wire.HeadRecord("", h, size), 0, -1, r.o.Memory)
	defer m.Release()
	l, err := runLegacy(m)
	if err == nil {
		r.held = zip.Entry{File: r.file, Stored: l.at[keysPickle], Size: l.at[keysPickle]}
		err = r.readLegacy(l)
	}
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
	if err := m.Err(); err != nil {
		return nil, err
	}
	version, _ := m.Int(l.parts[versionPickle]) // 0 if it is no integer
	if version != 1001 {
		return nil, wire.Errorf("", "protocol version", l.at[versionPickle], format.ErrVersion, "%d, known is 1001", version)
	}
	if m.Kind(l.parts[keysPickle]) != pickle.ListKind {
		return nil, wire.Errorf("", "storage keys", l.at[keysPickle], format.ErrCorrupt, "they are %s, not a list", m.KindOf(l.parts[keysPickle]))
	}
	return l, nil
}

// readLegacy finds the storages and what is in the object.
func (r *reading) readLegacy(l *legacyFile) error {
	end, err := r.legacyStores(l, r.file.Src, r.file.Src.Size(), func(at, size int64) (int, int64) {
		return r.addStore(zip.Entry{File: r.file, At: at, Stored: size, Size: size}), 0
	})
	if err != nil {
		return err
	}
	if left := r.file.Src.Size() - end; left > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d bytes follow the last storage", left))
	}
	return r.walk.Find(l.m, l.parts[objectPickle], l.at[keysPickle]-l.at[objectPickle], "")
}

// legacyStores finds the storages after the pickles, in the order of their keys, in a container of
// size bytes. place returns the store, and the offset in it, for a range of the container. It
// returns the end of the last storage.
func (r *reading) legacyStores(l *legacyFile, src io.ReaderAt, size int64, place func(at, size int64) (store int, from int64)) (end int64, err error) {
	r.old = make(map[string]root)
	if err := l.m.Persistent(func(id pickle.Ref) error { return r.addRoot(l.m, id) }); err != nil {
		return 0, err
	}
	keys := l.parts[keysPickle]
	at := l.at[legacyPickles]
	if err := r.o.Memory.Reserve(int64(l.m.Len(keys)) * storeBytes); err != nil {
		return 0, wire.Error("", "storage keys", at, err)
	}
	err = l.m.Each(keys, func(_ int, k pickle.Ref) error {
		if err := r.o.Context.Err(); err != nil {
			return err
		}
		key := string(l.m.Text(k))
		s, known := r.old[key]
		switch {
		case !known:
			return wire.Errorf("", "storage keys", at, format.ErrCorrupt, "no tensor is in storage %.200q", key)
		case s.store >= 0:
			return wire.Errorf("", "storage keys", at, format.ErrCorrupt, "storage %.200q occurs twice", key)
		}
		var b [8]byte
		if n := size - at; n < int64(len(b)) {
			return wire.Errorf("", "storage count", at, format.ErrTruncated, "needs 8 bytes, %d are left", n)
		}
		if _, err := src.ReadAt(b[:], at); err != nil {
			return err
		}
		if count := binary.LittleEndian.Uint64(b[:]); count != uint64(s.count) {
			return wire.Errorf("", "storage count", at, format.ErrCorrupt, "%d elements in storage %.200q, the pickle says %d", count, key, s.count)
		}
		at += int64(len(b))
		bytes := s.count * s.elem.Size
		if left := size - at; bytes > left {
			return wire.Errorf("", "storage", at, format.ErrTruncated, "storage %.200q has %d bytes, %d are left", key, bytes, left)
		}
		s.store, s.from = place(at, bytes)
		r.old[key] = s
		at += bytes
		return nil
	})
	return at, err
}

// addRoot remembers the storage of a persistent id, which may occur several times.
func (r *reading) addRoot(m *pickle.Machine, id pickle.Ref) error {
	p, err := parseID(m, id, true)
	if err != nil || p.elem == nil {
		return err
	}
	before, known := r.old[string(p.key)]
	if known && (before.elem.Size != p.elem.Size || before.count != p.count) {
		return m.Errorf(id, format.ErrCorrupt, "storage %.200q has %d elements here, %d before", p.key, p.count, before.count)
	}
	if known {
		return nil
	}
	if err := r.o.Memory.Reserve(rootBytes + int64(len(p.key))); err != nil {
		return m.Errorf(id, format.ErrLimit, "storages: %w", err)
	}
	r.old[string(p.key)] = root{elem: p.elem, count: p.count, store: -1}
	return nil
}
