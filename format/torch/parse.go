package torch

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
)

// reading is the state while a file is parsed.
type reading struct {
	*zip.File
	pickle
	m      *zip.Tensors // of all files
	o      *driver.Options
	x      *driver.Index  // of this file
	places []zip.Place    // by tensor of this file
	byKey  map[string]int // index of each storage
	big    bool           // elements are big-endian
	meta   plan.Metadata
	notes  []string

	// The walk through the object of the pickle.
	object  int64 // offset of that pickle
	path    []byte
	within  map[any]bool // the lists and dicts on the path to the current value
	visits  int64
	named   int64 // bytes of names so far
	skipped []skip
}

// Parse implements driver.Driver. It parses either container, or an index of several files.
func (driverOf) Parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	head, err := driver.Prefix(src, driver.SniffLen)
	if err != nil {
		return nil, err
	}
	m := &zip.Tensors{Index: x, Memory: o.Memory}
	out := &driver.Parsed{Load: m.Load, Verify: m.Verify, Touch: m.Touch}
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
		return out, parseIndex(m, src, o, out)
	}
	r, err := parseFile(m, src, 0, x, o)
	m.Places, out.Metadata, out.Notes = r.places, r.meta, r.notes
	return out, err
}

// isIndex reports whether head begins an index of several files.
func isIndex(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"weight_map"`)) && bytes.Contains(head, []byte(`.bin"`))
}

// parseIndex parses an index and all the files it names. If files have metadata with the same key,
// the first value counts.
func parseIndex(m *zip.Tensors, src driver.Source, o *driver.Options, out *driver.Parsed) error {
	var files []*reading
	join := shards.Model{Format: formatName, Open: func(src driver.Source, s driver.Space, y *driver.Index, o *driver.Options) (plan.Metadata, error) {
		r, err := parseFile(m, src, s, y, o)
		files = append(files, r)
		m.Index.Version = y.Version
		return r.meta, err
	}, Placed: func(file, i int) {
		m.Places = append(m.Places, files[file].places[i])
	}}
	all, _, err := join.Parse(src, m.Index, o)
	if err != nil {
		return err
	}
	for _, r := range files {
		out.Notes = append(out.Notes, r.notes...)
	}
	out.Metadata, _ = shards.Merge(all[1:]...) // that of the index describes the files
	slices.Sort(out.Notes)
	out.Notes = slices.Compact(out.Notes)
	return nil
}

// parseFile parses either container in the given address space and lists its tensors in x.
func parseFile(m *zip.Tensors, src driver.Source, space driver.Space, x *driver.Index, o *driver.Options) (*reading, error) {
	r := &reading{File: &zip.File{Src: src, Space: space}, m: m, o: o, x: x, byKey: make(map[string]int)}
	b, err := driver.Prefix(src, int64(legacyHead))
	if err != nil {
		return r, err
	}
	var v any
	switch {
	case bytes.HasPrefix(b, []byte(zip.LocalMagic)):
		v, err = r.parseArchive()
	case isLegacy(b):
		v, err = r.parseLegacy()
	default:
		err = wire.Errorf("", "magic", 0, format.ErrMagic, "the file begins with % x, neither a ZIP archive nor the number of torch.save's older container", b[:min(len(b), 8)])
	}
	if err == nil {
		err = r.list(v)
	}
	r.pickle.release()
	return r, err
}

// storeBytes is the approximate size of a storage's bookkeeping in memory.
const storeBytes = 160

// addStore adds a storage. Its key must be new.
func (r *reading) addStore(key string, e zip.Entry) {
	r.byKey[key] = len(r.m.Stores)
	r.m.Stores = append(r.m.Stores, e)
}

// parseLegacy parses the legacy container: pickles of a magic number, the protocol, the system, the
// object and the keys of the storages, then each storage after its element count.
func (r *reading) parseLegacy() (v any, err error) {
	r.x.Version, r.Plain = "legacy", true
	h := driver.ReadHead(r.Src, r.o)
	h.Expect(64 << 10)
	r.pickle = newPickle(wire.HeadCursor("", h, r.Src.Size()), r.o.Memory)
	r.legacy = true
	var parts [5]any
	var at [len(parts) + 1]int64
	for i := range parts {
		parts[i] = r.next()
		at[i+1] = r.c.Offset()
	}
	if err := cmp.Or(r.c.Err(), h.Close(at[len(parts)])); err != nil {
		return nil, err
	}
	if v, _ := parts[1].(int64); v != 1001 {
		return nil, wire.Errorf("", "protocol version", at[1], format.ErrVersion, "%v, known is 1001", parts[1])
	}
	keys, ok := parts[4].(*list)
	if !ok {
		return nil, wire.Errorf("", "storage keys", at[4], format.ErrCorrupt, "they are %s, not a list", kindOf(parts[4]))
	}
	r.object, r.stored = at[3], at[4]-at[3]
	return parts[3], r.legacyStores(keys.items, at[5])
}

// legacyStores finds the storages after the pickles, in the order of keys.
func (r *reading) legacyStores(keys []any, at int64) error {
	if err := r.o.Memory.Reserve(int64(len(keys)) * storeBytes); err != nil {
		return wire.Error("", "storage keys", at, err)
	}
	for _, k := range keys {
		if err := r.o.Context.Err(); err != nil {
			return err
		}
		key, _ := k.(string)
		s := r.roots[key]
		if s == nil {
			return wire.Errorf("", "storage keys", at, format.ErrCorrupt, "no tensor is in storage %.200q", key)
		}
		if _, twice := r.byKey[key]; twice {
			return wire.Errorf("", "storage keys", at, format.ErrCorrupt, "storage %.200q occurs twice", key)
		}
		var b [8]byte
		if n := r.Src.Size() - at; n < int64(len(b)) {
			return wire.Errorf("", "storage count", at, format.ErrTruncated, "needs 8 bytes, %d are left", n)
		}
		if _, err := r.Src.ReadAt(b[:], at); err != nil {
			return err
		}
		if count := binary.LittleEndian.Uint64(b[:]); count != uint64(s.total) {
			return wire.Errorf("", "storage count", at, format.ErrCorrupt, "%d elements in storage %.200q, the pickle says %d", count, key, s.total)
		}
		at += 8
		size := s.total * s.elem.size
		if left := r.Src.Size() - at; size > left {
			return wire.Errorf("", "storage", at, format.ErrTruncated, "storage %.200q has %d bytes, %d are left", key, size, left)
		}
		r.addStore(key, zip.Entry{File: r.File, At: at, Stored: size, Size: size})
		at += size
	}
	if at < r.Src.Size() {
		r.notes = append(r.notes, fmt.Sprintf("%d bytes follow the last storage", r.Src.Size()-at))
	}
	return nil
}
