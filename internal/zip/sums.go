package zip

import (
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/deflate"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// SumBytes is the memory of the declared checksum of an entry.
const SumBytes = 512

// Word is an entry that is structure.
type Word struct {
	Entry
	Name string
}

// Sums implements driver.Parsed: the CRC-32 of the entries that are structure, and of those with
// tensors.
func (t *Tensors) Sums() []driver.Sum {
	if !t.Zipped {
		return nil
	}
	list := make([]driver.Sum, 0, len(t.Words)+len(t.Stores)+1)
	for i := range t.Words {
		w := &t.Words[i]
		list = append(list, w.declare(w.Name, w.Name, w.At, t.Memory))
	}
	for range t.Stores {
		list = append(list, driver.Sum{Hidden: true}) // a storage that no tensor uses
	}
	for i := len(t.Places) - 1; i >= 0; i-- { // errors name the first tensor of an entry
		k := t.Places[i].Store
		if !t.Stores[k].Plain {
			list[len(t.Words)+k] = t.sumFor(i)
		}
	}
	return append(list, driver.Sum{Name: "directory"})
}

// SumsOf implements driver.Parsed.
func (t *Tensors) SumsOf(i int) (from, to int) {
	if !t.Zipped {
		return 0, 0
	}
	k := len(t.Words) + t.Places[i].Store
	return k, k + 1
}

// sumFor returns the checksum of the entry of tensor i.
func (t *Tensors) sumFor(i int) driver.Sum {
	store := &t.Stores[t.Places[i].Store]
	name := fmt.Sprintf("data of %q", t.Index.Name(i))
	s := store.declare(name, t.field(i), t.offset(i), t.Memory)
	s.Hidden = true
	s.By = driver.CRC32.String()
	return s
}

// declare returns the checksum of the content of the entry. Errors have the field and the offset.
func (e *Entry) declare(name, field string, at int64, m *driver.Memory) driver.Sum {
	stored := driver.Range{Space: e.Space, Offset: e.At, Size: e.Stored}
	s := driver.Sum{Name: name, Ranges: []driver.Range{stored}}
	if e.Sum != e.LocalSum {
		s.By = driver.CRC32.String()
		s.Check = func(driver.Verification) error {
			return wire.Place(wire.Error("", field, at, e.differ()), "", e.Src.Path(), "")
		}
		return s
	}
	s.Accept = []driver.Digest{{
		Kind:   driver.CRC32,
		Want:   uint64(e.Sum),
		Field:  field,
		Offset: at,
		Space:  e.Space,
	}}
	if e.Packed {
		s.Size = e.Size
		s.Content = func(v driver.Verification) (uint64, error) { return e.inflated(v, name, m) }
	}
	return s
}

// differ is the error for an entry whose checksums are not the same.
func (e *Entry) differ() error {
	return fmt.Errorf("%w: the directory records crc32 %08x for the entry, the entry %08x",
		tensor.ErrChecksum, e.Sum, e.LocalSum)
}

// inflated returns the CRC-32 of the content of a compressed entry.
func (e *Entry) inflated(v driver.Verification, part string, m *driver.Memory) (uint64, error) {
	b, err := e.Src.Slice(e.At, e.Stored)
	if err != nil {
		return 0, err
	}
	sum := checksum.Count(v, driver.CRC32, part)
	err = codec.DataTo(sum, deflate.Codec, b, e.Size, m)
	return sum.Sum64(), err
}

// Compare compares the checksum with the content b.
func (w *Word) Compare(b []byte, m *driver.Memory) error {
	s := w.declare(w.Name, w.Name, w.At, m)
	err := w.compare(&s, b)
	if err == nil || errors.As(err, new(*tensor.Error)) {
		return err
	}
	return wire.Error("", w.Name, w.At, err)
}

// compare compares s, the checksum of the entry, with the content b.
func (e *Entry) compare(s *driver.Sum, b []byte) error {
	if e.Sum != e.LocalSum {
		return e.differ()
	}
	_, err := e.Src.Compare(s, b, e.At)
	return err
}
