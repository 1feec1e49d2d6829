package gguf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// scan walks the structure of a file, whose size is written nowhere, in private
// memory: nothing that was checked changes when another process writes to the
// file.
type scan struct {
	ctx  context.Context
	src  driver.Source
	b    []byte // the beginning of the file
	at   int    // the next byte
	most int64  // that may be read

	// guess is where what is being read may end, 0 while there is nothing to go by. A
	// wrong one, also by overflow, costs further reads and nothing else.
	guess int64

	memory  *driver.Memory
	counted int64 // in memory
}

const (
	firstWindow = 64 << 10
	mostPooled  = 8 << 20
)

var scans = sync.Pool{New: func() any { return &scan{b: make([]byte, 0, firstWindow)} }}

func newScan(src driver.Source, o *driver.Options) *scan {
	s := scans.Get().(*scan)
	s.ctx, s.src, s.b, s.at, s.guess = o.Context, src, s.b[:0], 0, 0
	s.memory = o.Memory
	s.most = min(src.Size(), o.MaxHeaderBytes, math.MaxInt)
	return s
}

// free gives the memory back, which must not be in use any more.
func (s *scan) free() {
	_ = s.src.Record(s.b[:s.at], 0)
	s.memory.Release(s.counted)
	s.ctx, s.src, s.memory, s.counted = nil, nil, nil, 0
	if cap(s.b) <= mostPooled {
		scans.Put(s)
	}
}

// need makes sure that the next n bytes are in memory.
func (s *scan) need(field string, n uint64) error {
	if n <= uint64(len(s.b)-s.at) {
		return nil
	}
	return s.read(field, n)
}

// read reads on, as far as is needed or guessed, and by a sixteenth at least, so that all reads together
// copy what they read a few times. It never allocates more than 64 times what it has read, as
// the size of a file may be a claim.
func (s *scan) read(field string, n uint64) error {
	left := s.src.Size() - int64(s.at)
	if n > uint64(left) {
		return wire.Errorf(formatName, field, int64(s.at), format.ErrTruncated, "needs %d bytes, %d are left", n, left)
	}
	end := int64(s.at) + int64(n)
	if end > s.most {
		return wire.Errorf(formatName, field, int64(s.at), format.ErrLimit, "the structure of the file is larger than %d bytes", s.most)
	}
	for have := int64(len(s.b)); have < end; have = int64(len(s.b)) {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		next := max(firstWindow, have+have/16, end, s.guess)
		next = min(next, 64*max(have, firstWindow))
		next = min(next, s.src.Size(), s.most)
		if err := s.memory.Reserve(next - s.counted); err != nil {
			return wire.Error(formatName, field, int64(s.at), err)
		}
		s.counted = next
		if next > int64(cap(s.b)) {
			s.b = append(make([]byte, 0, next), s.b...)
		}
		if _, err := s.src.ReadAhead(s.b[have:next], have); err != nil {
			return err
		}
		s.b = s.b[:next]
	}
	return nil
}

// count checks that n records of at least size bytes fit in what is left.
func (s *scan) count(field string, n uint64, size int) error {
	if left := s.src.Size() - int64(s.at); n > uint64(left)/uint64(size) {
		return wire.Errorf(formatName, field, int64(s.at), format.ErrTruncated, "%d records of at least %d bytes, %d bytes are left", n, size, left)
	}
	return nil
}

func (s *scan) u32(field string) (uint32, error) {
	if err := s.need(field, 4); err != nil {
		return 0, err
	}
	s.at += 4
	return binary.LittleEndian.Uint32(s.b[s.at-4:]), nil
}

func (s *scan) u64(field string) (uint64, error) {
	if err := s.need(field, 8); err != nil {
		return 0, err
	}
	s.at += 8
	return binary.LittleEndian.Uint64(s.b[s.at-8:]), nil
}

// text returns a string, valid until more is read.
func (s *scan) text(field string) ([]byte, error) {
	n, err := s.u64(field)
	if err == nil {
		err = s.need(field, n)
	}
	if err != nil {
		return nil, err
	}
	s.at += int(n)
	return s.b[s.at-int(n) : s.at : s.at], nil
}

// header is the beginning of a file.
type header struct {
	version           uint32
	tensors, metadata uint64
}

// header reads and checks the first 24 bytes.
func (s *scan) header() (h header, err error) {
	if err := s.need("magic", 4); err != nil {
		return h, err
	}
	if m := s.b[:4]; string(m) != magic {
		return h, wire.Errorf(formatName, "magic", 0, format.ErrMagic, "the file begins with % x, not %q", m, magic)
	}
	s.at = 4
	if h.version, err = s.u32("version"); err != nil {
		return h, err
	}
	switch swapped := binary.BigEndian.Uint32(s.b[4:]); {
	case h.version == 2 || h.version == 3:
	case swapped >= 1 && swapped <= 3:
		return h, wire.Errorf(formatName, "version", 4, format.ErrVersion, "0x%08x is %d with its bytes swapped: the file is big-endian, and only little-endian ones are read", h.version, swapped)
	default:
		return h, wire.Errorf(formatName, "version", 4, format.ErrVersion, "%d, only 2 and 3 are known", h.version)
	}
	if h.tensors, err = s.u64("tensor_count"); err != nil {
		return h, err
	}
	if h.metadata, err = s.u64("metadata_kv_count"); err != nil {
		return h, err
	}
	left := uint64(s.src.Size()) - headerSize
	switch {
	case h.tensors > left/minTensor:
		err = wire.Errorf(formatName, "tensor_count", 8, format.ErrTruncated, "%d tensors take at least %d bytes each, %d are left", h.tensors, minTensor, left)
	case h.metadata > (left-h.tensors*minTensor)/minEntry:
		err = wire.Errorf(formatName, "metadata_kv_count", 16, format.ErrTruncated, "%d entries take at least %d bytes each, %d are left", h.metadata, minEntry, left-h.tensors*minTensor)
	}
	return h, err
}

// entries checks n metadata entries, and gives each to f: its key, the type of its
// value, and where that is.
func (s *scan) entries(n uint64, f func(key []byte, t valueType, at int) error) error {
	for range n {
		key, err := s.text("metadata key")
		if err != nil {
			return err
		}
		from := s.at - len(key)
		t, err := s.u32("metadata type")
		if err != nil {
			return ofEntry(err, key)
		}
		at := s.at
		if err = s.value(valueType(t), int64(at-4), 0); err == nil {
			key = s.b[from : from+len(key)] // which may have moved
			err = f(key, valueType(t), at)
		}
		if err != nil {
			return ofEntry(err, key)
		}
	}
	return nil
}

// ofEntry says which entry an error is about, in a copy.
func ofEntry(err error, key []byte) error {
	var e *format.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Err = fmt.Errorf("%w (key %q)", e.Err, key)
	return &c
}

// value checks the value that comes next; typeAt is where its type is.
func (s *scan) value(t valueType, typeAt int64, depth int) error {
	switch {
	case t >= numValueTypes:
		return wire.Errorf(formatName, "metadata type", typeAt, format.ErrUnsupported, "unknown type %d", t)
	case t == typeString:
		_, err := s.text("metadata value")
		return err
	case t == typeArray:
		return s.array(depth + 1)
	}
	return s.scalars(t, 1)
}

// scalars checks n values of a fixed size.
func (s *scan) scalars(t valueType, n uint64) error {
	if err := s.count("metadata value", n, valueSizes[t]); err != nil {
		return err
	}
	if err := s.need("metadata value", n*uint64(valueSizes[t])); err != nil {
		return err
	}
	size := int(n) * valueSizes[t]
	s.at += size
	if t != typeBool {
		return nil
	}
	for i, v := range s.b[s.at-size : s.at] {
		if v > 1 {
			return wire.Errorf(formatName, "metadata value", int64(s.at-size+i), format.ErrCorrupt, "%d is no bool", v)
		}
	}
	return nil
}

func (s *scan) array(depth int) error {
	at := int64(s.at)
	if depth > maxDepth {
		return wire.Errorf(formatName, "metadata value", at, format.ErrLimit, "arrays are nested more than %d deep", maxDepth)
	}
	elem, err := s.u32("metadata array type")
	if err != nil {
		return err
	}
	t := valueType(elem)
	if t >= numValueTypes {
		return wire.Errorf(formatName, "metadata array type", at, format.ErrUnsupported, "unknown type %d", t)
	}
	n, err := s.u64("metadata array length")
	if err == nil {
		err = s.count("metadata array length", n, valueSizes[t])
	}
	if err != nil || t != typeString && t != typeArray {
		if err == nil {
			err = s.scalars(t, n)
		}
		return err
	}
	if t == typeString {
		return s.strings(n)
	}
	for range n {
		if err := s.value(t, at, depth); err != nil {
			return err
		}
	}
	return nil
}

// expect guesses where n records end of which i were read that begin at from: the others take as much each, and
// a tenth more, or at least as much as any.
func (s *scan) expect(from int, i, n int64, least float64) {
	if i > 0 {
		least = 1.1 * float64(s.at-from) / float64(i)
	}
	s.guess = int64(s.at) + int64(min(float64(n-i)*least, 1<<62))
}

// strings checks n strings. Those that are not read yet are guessed to be as long as those before.
func (s *scan) strings(n uint64) error {
	from := s.at
	for i := range int64(n) {
		if b := s.b[s.at:]; len(b) >= minString {
			if size := binary.LittleEndian.Uint64(b); size <= uint64(len(b)-minString) {
				s.at += minString + int(size)
				continue
			}
		}
		s.expect(from, i, int64(n), minString)
		if _, err := s.text("metadata value"); err != nil {
			return err
		}
	}
	s.guess = 0
	return nil
}

// extent is what a first walk over the tensors finds.
type extent struct {
	names, dims int
	open        bool // the size of some does not follow from their type
}

// infos checks that n tensors are whole, so that a second walk need not.
func (s *scan) infos(n uint64) (x extent, err error) {
	from := s.at
	for i := range int64(n) {
		if name, rank, size := usual(s.b[s.at:]); size > 0 {
			s.at += size
			x.names += name
			x.dims += rank
			continue
		}
		s.expect(from, i, int64(n), minTensor)
		if err := s.info(&x); err != nil {
			return x, err
		}
	}
	return x, nil
}

// usual looks at the record of a tensor that b begins with. Its size is 0 when there is
// anything that info has to look at: b ends too early, a fault, a type whose size is unknown.
func usual(b []byte) (name, rank, size int) {
	if len(b) < minTensor {
		return 0, 0, 0
	}
	n := binary.LittleEndian.Uint64(b)
	if n > uint64(len(b)-minTensor) {
		return 0, 0, 0
	}
	name = int(n)
	r := binary.LittleEndian.Uint32(b[8+name:])
	if r > maxRank {
		return 0, 0, 0
	}
	rank = int(r)
	size = minTensor + name + 8*rank
	if size > len(b) {
		return 0, 0, 0
	}
	code := binary.LittleEndian.Uint32(b[size-12:])
	if code >= uint32(len(elementTypes)) || !elementTypes[code].sized() || driver.CheckName(b[8:8+name]) != nil {
		return 0, 0, 0
	}
	return name, rank, size
}

// info checks the next tensor, and reads on where that takes it.
func (s *scan) info(x *extent) error {
	name, err := s.text("tensor name")
	if err != nil {
		return err
	}
	if err := driver.CheckName(name); err != nil {
		return wire.Error(formatName, "tensor name", int64(s.at-len(name)), err)
	}
	at := int64(s.at)
	rank, err := s.u32("tensor n_dims")
	if err != nil {
		return err
	}
	if rank > maxRank {
		return wire.Errorf(formatName, "tensor n_dims", at, format.ErrCorrupt, "%d, at most %d are possible", rank, maxRank)
	}
	if err := s.need("tensor dims", 8*uint64(rank)); err != nil {
		return err
	}
	s.at += 8 * int(rank)
	at = int64(s.at)
	code, err := s.u32("tensor type")
	if err != nil {
		return err
	}
	if code >= maxCode {
		return wire.Errorf(formatName, "tensor type", at, format.ErrUnsupported, "%d is no type's number", code)
	}
	if _, err := s.u64("tensor offset"); err != nil {
		return err
	}
	x.names += len(name)
	x.dims += int(rank)
	x.open = x.open || code >= uint32(len(elementTypes)) || !elementTypes[code].sized()
	return nil
}
