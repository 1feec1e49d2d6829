package npy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// section reads a part of a file.
type section struct {
	src     driver.Source
	at, end int64
}

func (s *section) Read(p []byte) (int, error) {
	n := int(min(int64(len(p)), s.end-s.at))
	if n <= 0 {
		return 0, io.EOF
	}
	n, err := s.src.ReadAt(p[:n], s.at)
	s.at += int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// stream reads arrays from the beginning to the end, unpacked.
type stream struct {
	in   section
	buf  *bufio.Reader // of in
	z    io.ReadCloser // of buf; nil before the first packed array
	r    io.Reader     // buf or z
	out  []byte
	sum  uint32 // CRC-32 of what was read by next
	left int64
}

func newStream(size int) *stream {
	return &stream{buf: bufio.NewReaderSize(nil, size), out: make([]byte, size)}
}

// streams are for all data of an array; opening reads headers through a small one.
var streams = sync.Pool{New: func() any { return newStream(64 << 10) }}

// release gives a stream back, without the file.
func (s *stream) release() {
	s.seek(nil, 0, 0)
	streams.Put(s)
}

// seek begins to read bytes of the file.
func (s *stream) seek(src driver.Source, at, end int64) {
	s.in = section{src, at, end}
	s.buf.Reset(&s.in)
	s.r = s.buf
}

// unpack makes what follows the stream of an array.
func (s *stream) unpack(packed bool) error {
	if !packed {
		return nil
	}
	if s.z == nil {
		s.z = flate.NewReader(s.buf)
	} else if err := s.z.(flate.Resetter).Reset(s.buf, nil); err != nil {
		return err
	}
	s.r = s.z
	return nil
}

// open begins to read an array.
func (s *stream) open(src driver.Source, e *entry) error {
	s.seek(src, e.at, e.at+e.stored)
	s.sum, s.left = 0, e.size
	return s.unpack(e.packed)
}

// next reads up to n bytes more, valid until the next call.
func (s *stream) next(n int64) ([]byte, error) {
	p := s.out[:min(n, int64(len(s.out)))]
	if _, err := io.ReadFull(s.r, p); err != nil {
		return nil, unpacked(err)
	}
	s.sum = tensor.UpdateCRC32(s.sum, p)
	s.left -= int64(len(p))
	return p, nil
}

// end makes sure that array and packed bytes end together.
func (s *stream) end(packed bool) error {
	if !packed {
		return nil
	}
	switch n, err := io.ReadFull(s.r, s.out[:1]); {
	case n > 0:
		return fmt.Errorf("%w: deflate: holds more than the array", format.ErrCorrupt)
	case !errors.Is(err, io.EOF):
		return unpacked(err)
	case s.buf.Buffered() > 0 || s.in.at < s.in.end:
		return fmt.Errorf("%w: deflate: bytes after its end", format.ErrCorrupt)
	}
	return nil
}

// unpacked makes an error of a file out of one of unpacking, unless it is one.
func unpacked(err error) error {
	var bad flate.CorruptInputError
	if errors.Is(err, format.ErrTruncated) {
		return err // of the file
	}
	if errors.As(err, &bad) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return codec.Corrupt("deflate", codec.NoEOF(err))
	}
	return err
}

// Load implements driver.Loader.
func (f *parsed) Load(i int) ([]byte, error) {
	e := &f.entries[i]
	s := streams.Get().(*stream)
	b, err := f.load(s, e)
	s.release()
	if err != nil {
		return nil, f.located(i, err)
	}
	if e.fortran {
		b = rowMajor(b, f.index.Shape(i), int(e.elem.size))
	}
	if e.swap {
		swapWords(b, e.elem.word)
	}
	return b, nil
}

// load reads the data of an array as it is stored.
func (f *parsed) load(s *stream, e *entry) ([]byte, error) {
	if err := s.prove(f.src, e); err != nil {
		return nil, err
	}
	if err := s.open(f.src, e); err != nil {
		return nil, err
	}
	// What the header says was read when the file was opened.
	for head := int64(e.head); e.size-s.left < head; {
		if _, err := s.next(head - (e.size - s.left)); err != nil {
			return nil, err
		}
	}
	b, err := f.rest(s, e)
	if err != nil {
		return nil, err
	}
	if f.checks {
		return b, e.compare(tensor.UpdateCRC32(s.sum, b))
	}
	return b, nil
}

// rest reads the data behind the header. What a reader claims to have is not
// allocated before it arrives.
func (f *parsed) rest(s *stream, e *entry) ([]byte, error) {
	size := s.left
	if !e.packed && !f.src.InMemory() {
		return f.src.Slice(e.at+int64(e.head), size)
	}
	if err := codec.CheckSize(size); err != nil {
		return nil, err
	}
	b := memory.Aligned(int(size))
	if _, err := io.ReadFull(s.r, b); err != nil {
		return nil, unpacked(err)
	}
	return b, s.end(e.packed)
}

// prove makes sure that an array is as long as it claims to be where that is out of
// proportion, before memory is taken for it.
func (s *stream) prove(src driver.Source, e *entry) error {
	if !e.packed || e.size <= codec.Ahead(int(min(e.stored, mostAhead))) {
		return nil
	}
	return s.walk(src, e, func([]byte) error { return nil })
}

// walk calls f with the pieces of an array.
func (s *stream) walk(src driver.Source, e *entry, f func(b []byte) error) error {
	if err := s.open(src, e); err != nil {
		return err
	}
	for s.left > 0 {
		b, err := s.next(s.left)
		if err == nil {
			err = f(b)
		}
		if err != nil {
			return err
		}
	}
	return s.end(e.packed)
}

// mostAhead bounds the packed bytes that justify memory before they were read.
const mostAhead = 4 << 20

// compare compares the CRC-32 of an array with what the file records.
func (e *entry) compare(sum uint32) error {
	for _, want := range []uint32{e.sum, e.localSum} {
		if sum != want {
			return fmt.Errorf("%w: the array has crc32 %08x, the file records %08x", format.ErrChecksum, sum, want)
		}
	}
	return nil
}

// located names tensor i in an error that names no place.
func (f *parsed) located(i int, err error) error {
	var e *format.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return wire.Error("", fmt.Sprintf("tensor %q", f.index.Name(i)), f.entries[i].at, err)
}

// rowMajor returns the elements of an array whose first dim varies fastest in the
// order in which the last does.
func rowMajor(b []byte, shape tensor.Shape, size int) []byte {
	// Dims of 1 and the first and last of the others are easy: every matrix of
	// the two is turned over, for each index of those between them.
	dims := slices.DeleteFunc(shape.Clone(), func(d int64) bool { return d == 1 })
	last := len(dims) - 1
	rows, cols := int(dims[0]), int(dims[last])
	fromCol, toRow := size, size // distances between neighbors
	for _, d := range dims[:last] {
		fromCol *= int(d)
	}
	for _, d := range dims[1:] {
		toRow *= int(d)
	}
	out := memory.Aligned(len(b))
	at := make([]int64, len(dims)) // the index between; first and last stay 0
	for {
		from, to, fromStep, toStep := 0, 0, size*rows, len(b)/rows
		for k := 1; k < last; k++ {
			toStep /= int(dims[k])
			from += int(at[k]) * fromStep
			to += int(at[k]) * toStep
			fromStep *= int(dims[k])
		}
		transpose(out[to:], b[from:], rows, cols, toRow, fromCol, size)
		k := last - 1
		for ; k > 0; k-- {
			if at[k]++; at[k] < dims[k] {
				break
			}
			at[k] = 0
		}
		if k <= 0 {
			return out
		}
	}
}

// transpose copies a matrix whose columns are contiguous in b, cols of them at a
// distance of fromCol, to rows that are contiguous in out. It goes by tiles, so
// that both sides stay in the cache.
func transpose(out, b []byte, rows, cols, toRow, fromCol, size int) {
	const tile = 32
	for r0 := 0; r0 < rows; r0 += tile {
		for c0 := 0; c0 < cols; c0 += tile {
			for r := r0; r < min(r0+tile, rows); r++ {
				for c := c0; c < min(c0+tile, cols); c++ {
					copy(out[r*toRow+c*size:][:size], b[c*fromCol+r*size:][:size])
				}
			}
		}
	}
}

// swapWords turns the bytes of every word around.
func swapWords(b []byte, word int) {
	le, be := binary.LittleEndian, binary.BigEndian
	for i := 0; i+word <= len(b); i += word {
		switch word {
		case 2:
			le.PutUint16(b[i:], be.Uint16(b[i:]))
		case 4:
			le.PutUint32(b[i:], be.Uint32(b[i:]))
		case 8:
			le.PutUint64(b[i:], be.Uint64(b[i:]))
		}
	}
}
