package torch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
)

// model is the state of an open model besides its index.
type model struct {
	index  *driver.Index
	stores []blob        // of all files
	places []place       // by tensor
	passed []atomic.Bool // storages whose checksum was verified
	memory *driver.Memory
}

// blob is a storage in a file. Storages of the legacy container have no checksum.
type blob struct {
	zip.Entry
	*file
}

// file is one file of a model.
type file struct {
	src    driver.Source
	space  driver.Space
	zipped bool
	big    bool // elements are big-endian
}

// place locates the elements of a tensor.
type place struct {
	store  int
	from   int64 // offset into the storage in bytes
	extent int64 // bytes from the first element to the last
	elem   *elem
	stride []int64 // in elements, nil if contiguous
}

// reading is the state while a file is parsed.
type reading struct {
	*file
	*model
	o      *driver.Options
	x      *driver.Index  // of this file
	places []place        // by tensor of this file
	byKey  map[string]int // index of each storage
	meta   driver.Metadata
	notes  []string
	walk   walk
}

// parse parses either container, or an index of several files.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	head, err := driver.Prefix(src, driver.SniffLen)
	if err != nil {
		return nil, err
	}
	m := &model{index: x, memory: o.Memory}
	out := &driver.Parsed{Load: m.load, Verify: m.verify, Touch: m.touch}
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
		err = m.parseIndex(src, o, out)
	} else {
		var r *reading
		if r, err = m.parseFile(src, 0, x, o); err == nil {
			m.places, out.Metadata, out.Notes = r.places, r.meta, r.notes
		}
	}
	if err != nil {
		return nil, err
	}
	m.passed = make([]atomic.Bool, len(m.stores))
	return out, nil
}

// isIndex reports whether head begins an index of several files.
func isIndex(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"weight_map"`)) && bytes.Contains(head, []byte(`.bin"`))
}

// parseIndex parses an index and all the files it names. If files have metadata with the same key,
// the first value counts.
func (m *model) parseIndex(src driver.Source, o *driver.Options, out *driver.Parsed) error {
	var files []*reading
	join := shards.Model{Format: formatName, Open: func(src driver.Source, s driver.Space, y *driver.Index) error {
		r, err := m.parseFile(src, s, y, o)
		files = append(files, r)
		m.index.Version = y.Version
		return err
	}, Placed: func(file, i int) {
		m.places = append(m.places, files[file].places[i])
	}}
	_, _, err := join.Parse(src, m.index, o)
	if err != nil {
		return err
	}
	var all []driver.Metadata
	for _, r := range files {
		all = append(all, r.meta)
		out.Notes = append(out.Notes, r.notes...)
	}
	out.Metadata, _ = shards.Merge(all...)
	slices.Sort(out.Notes)
	out.Notes = slices.Compact(out.Notes)
	return nil
}

// parseFile parses either container in the given address space and lists its tensors in x.
func (m *model) parseFile(src driver.Source, space driver.Space, x *driver.Index, o *driver.Options) (*reading, error) {
	var head [legacyHead]byte
	b, err := driver.First(src, head[:])
	if err != nil {
		return nil, err
	}
	r := &reading{file: &file{src: src, space: space}, model: m, o: o, x: x, byKey: make(map[string]int)}
	switch {
	case bytes.HasPrefix(b, []byte(zip.LocalMagic)):
		r.zipped = true
		err = r.parseArchive()
	case isLegacy(b):
		err = r.parseLegacy()
	default:
		err = wire.Errorf("", "magic", 0, format.ErrMagic, "the file begins with % x, neither a ZIP archive nor the number of torch.save's older container", b[:min(len(b), 8)])
	}
	return r, err
}

// storeBytes is the approximate size of a storage's bookkeeping in memory.
const storeBytes = 160

// addStore adds a storage. Its key must be new.
func (r *reading) addStore(key string, e zip.Entry) {
	r.byKey[key] = len(r.stores)
	r.stores = append(r.stores, blob{e, r.file})
}

// parseLegacy parses the legacy container: pickles of a magic number, the protocol, the system, the
// object and the keys of the storages, then each storage after its element count.
func (r *reading) parseLegacy() (err error) {
	r.x.Version = "legacy"
	h := driver.ReadHead(r.src, r.o)
	h.Expect(64 << 10)
	p := newPickle(nil, 0, r.o.Memory)
	p.head = h
	var parts [5]any
	var at [len(parts) + 1]int64
	defer func() {
		p.release()
		if closeErr := h.Close(at[len(parts)]); err == nil {
			err = closeErr
		}
	}()
	for i := range parts {
		if parts[i], err = p.next(); err != nil {
			return err
		}
		at[i+1] = p.c.Offset()
	}
	if v, _ := parts[1].(int64); v != 1001 {
		return wire.Errorf("", "protocol version", at[1], format.ErrVersion, "%v, known is 1001", parts[1])
	}
	keys, ok := parts[4].(*list)
	if !ok {
		return wire.Errorf("", "storage keys", at[4], format.ErrCorrupt, "they are %s, not a list", kindOf(parts[4]))
	}
	if err := r.legacyStores(keys.items, p.roots, at[5]); err != nil {
		return err
	}
	return r.list(parts[3], at[3], at[4]-at[3])
}

// legacyStores finds the storages after the pickles, in the order of keys.
func (r *reading) legacyStores(keys []any, roots map[string]*storage, at int64) error {
	if err := r.o.Memory.Reserve(int64(len(keys)) * storeBytes); err != nil {
		return wire.Error("", "storage keys", at, err)
	}
	for _, k := range keys {
		if err := r.o.Context.Err(); err != nil {
			return err
		}
		key, _ := k.(string)
		s := roots[key]
		if s == nil {
			return wire.Errorf("", "storage keys", at, format.ErrCorrupt, "no tensor is in storage %.200q", key)
		}
		if _, twice := r.byKey[key]; twice {
			return wire.Errorf("", "storage keys", at, format.ErrCorrupt, "storage %.200q occurs twice", key)
		}
		var b [8]byte
		if n := r.src.Size() - at; n < int64(len(b)) {
			return wire.Errorf("", "storage count", at, format.ErrTruncated, "needs 8 bytes, %d are left", n)
		}
		if _, err := r.src.ReadAt(b[:], at); err != nil {
			return err
		}
		if count := binary.LittleEndian.Uint64(b[:]); count != uint64(s.total) {
			return wire.Errorf("", "storage count", at, format.ErrCorrupt, "%d elements in storage %.200q, the pickle says %d", count, key, s.total)
		}
		at += 8
		size := s.total * s.elem.size
		if left := r.src.Size() - at; size > left {
			return wire.Errorf("", "storage", at, format.ErrTruncated, "storage %.200q has %d bytes, %d are left", key, size, left)
		}
		r.addStore(key, zip.Entry{At: at, Stored: size, Size: size})
		at += size
	}
	if at < r.src.Size() {
		r.notes = append(r.notes, fmt.Sprintf("%d bytes follow the last storage", r.src.Size()-at))
	}
	return nil
}
