package torch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is what is kept of an open file beside its index.
type parsed struct {
	src     driver.Source
	space   driver.Space
	index   *driver.Index
	mine    func(i int) bool // in a model of several files: whether tensor i is in this one
	version string
	stores  []zip.Entry // the storages; those of the legacy container have no sums
	places  []place     // by tensor
	byKey   map[string]int
	sums    []sum // of the structure
	meta    driver.Metadata
	notes   []string
	big     bool // elements are big-endian
	zipped  bool
	memory  *driver.Memory
	check   checked
	most    int // tensors
}

// place is where the elements of a tensor are.
type place struct {
	store  int
	from   int64 // bytes into the storage
	elem   *elem
	stride []int64 // in elements, nil for one after the other
}

// sum is the CRC-32 of bytes of the structure when they were read.
type sum struct {
	at, size int64
	crc      uint32
}

// parse reads either container, or an index of files.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	head, err := driver.Prefix(src, driver.SniffLen)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
		return parseIndex(src, x, o)
	}
	f, err := parseFile(src, 0, x, o)
	if err != nil {
		return nil, err
	}
	return &driver.Parsed{Own: f, Metadata: f.meta, Notes: f.notes, Load: f.Load, Verify: f.Verify, Touch: f.Touch}, nil
}

// parseFile reads either container, which is in a space.
func parseFile(src driver.Source, space driver.Space, x *driver.Index, o *driver.Options) (*parsed, error) {
	f := &parsed{src: src, space: space, index: x, byKey: make(map[string]int), most: o.MaxTensors, memory: o.Memory}
	var head [legacyHead]byte
	b, err := driver.First(src, head[:])
	switch {
	case err != nil:
		return nil, err
	case bytes.HasPrefix(b, []byte(zip.LocalMagic)):
		f.zipped = true
		err = f.parseArchive(o)
	case isLegacy(b):
		err = f.parseLegacy(o)
	default:
		err = wire.Errorf("", "magic", 0, format.ErrMagic, "the file begins with % x, neither a ZIP archive nor the number of torch.save's older container", b[:min(len(b), 8)])
	}
	f.byKey = nil
	if err != nil {
		return nil, err
	}
	f.check.init(len(f.stores))
	f.version = x.Version
	return f, nil
}

// keep remembers bytes of the structure for Verify.
func (f *parsed) keep(at int64, b []byte) {
	f.sums = append(f.sums, sum{at, int64(len(b)), tensor.CRC32(b)})
}

// list lists what the object of a pickle holds.
func (f *parsed) list(v any, at, stored int64) error {
	l := newLister(f, at, stored)
	if err := l.list(v); err != nil {
		return err
	}
	f.notes = append(f.notes, l.notes()...)
	return nil
}

// parseLegacy reads the older container: pickles of a number, the protocol, the system, the
// object and the keys of its storages, and then these, each behind its count.
func (f *parsed) parseLegacy(o *driver.Options) error {
	f.index.Version = "legacy"
	size := f.src.Size()
	for n := min(size, 64<<10); ; n = min(size, 4*n) {
		if n > o.MaxHeaderBytes {
			return wire.Errorf("", "pickle", 0, format.ErrLimit, "it has more than %d bytes", o.MaxHeaderBytes)
		}
		if err := o.Memory.Reserve(n); err != nil {
			return wire.Error("", "pickle", 0, err)
		}
		err := f.legacyWithin(n, o)
		o.Memory.Release(n)
		if n == size || !errors.Is(err, errShort) {
			return err
		}
	}
}

// errShort says that the pickles do not end within what was read.
var errShort = errors.New("the pickles are longer")

// legacyWithin reads the legacy container if its pickles end within n bytes.
func (f *parsed) legacyWithin(n int64, o *driver.Options) error {
	b, err := driver.Private(f.src, 0, n)
	if err != nil {
		return err
	}
	p := newPickle(b, 0, o.Memory)
	p.legacy = true
	defer p.release()
	var parts [5]any
	var at [6]int64
	for i := range parts {
		if parts[i], err = p.next(); err != nil {
			if errors.Is(err, format.ErrTruncated) && n < f.src.Size() {
				return errShort
			}
			return err
		}
		at[i+1] = p.c.Offset()
	}
	if v, ok := parts[1].(int64); !ok || v != 1001 {
		return wire.Errorf("", "protocol version", at[1], format.ErrVersion, "%v, known is 1001", parts[1])
	}
	keys, ok := parts[4].(*list)
	if !ok {
		return wire.Errorf("", "storage keys", at[4], format.ErrCorrupt, "they are %s, not a list", kindOf(parts[4]))
	}
	f.keep(0, b[:at[5]])
	if err := f.legacyStores(keys.items, p.roots, at[5], o); err != nil {
		return err
	}
	return f.list(parts[3], at[3], at[4]-at[3])
}

// legacyStores finds the storages behind the pickles, in the order of their keys.
func (f *parsed) legacyStores(keys []any, roots map[string]*storage, at int64, o *driver.Options) error {
	if err := o.Memory.Reserve(int64(len(keys)) * storeBytes); err != nil {
		return wire.Error("", "storage keys", at, err)
	}
	for _, k := range keys {
		if err := o.Context.Err(); err != nil {
			return err
		}
		key, _ := k.(string)
		s := roots[key]
		if s == nil {
			return wire.Errorf("", "storage keys", at, format.ErrCorrupt, "no tensor is in storage %s", clip(key))
		}
		if _, twice := f.byKey[key]; twice {
			return wire.Errorf("", "storage keys", at, format.ErrCorrupt, "storage %s occurs twice", clip(key))
		}
		var b [8]byte
		if n := f.src.Size() - at; n < int64(len(b)) {
			return wire.Errorf("", "storage count", at, format.ErrTruncated, "needs 8 bytes, %d are left", n)
		}
		if _, err := f.src.ReadAt(b[:], at); err != nil {
			return err
		}
		count := binary.LittleEndian.Uint64(b[:])
		if f.keep(at, b[:]); count != uint64(s.total) {
			return wire.Errorf("", "storage count", at, format.ErrCorrupt, "%d elements in storage %s, the pickle says %d", count, clip(key), s.total)
		}
		at += 8
		size := s.total * s.elem.size
		if left := f.src.Size() - at; size > left {
			return wire.Errorf("", "storage", at, format.ErrTruncated, "storage %s has %d bytes, %d are left", clip(key), size, left)
		}
		f.byKey[key] = len(f.stores)
		f.stores = append(f.stores, zip.Entry{At: at, Stored: size, Size: size})
		at += size
	}
	if at < f.src.Size() {
		f.notes = append(f.notes, fmt.Sprintf("%d bytes follow the last storage", f.src.Size()-at))
	}
	return nil
}

// storeBytes is what a storage takes in memory, about.
const storeBytes = 160
