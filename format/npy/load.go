package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// load returns the data of array i, little-endian and in row-major order.
func (f *parsed) load(i int) ([]byte, error) {
	e := &f.entries[i]
	s := zip.Borrow()
	b, err := f.stored(s, e)
	s.Release()
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

// stored reads the data of an array as it is stored.
func (f *parsed) stored(s *zip.Stream, e *entry) ([]byte, error) {
	if err := s.Prove(f.src, &e.Entry); err != nil {
		return nil, err
	}
	if err := s.Open(f.src, &e.Entry); err != nil {
		return nil, err
	}
	// What the header says was read when the file was opened.
	for head := int64(e.head); e.Size-s.Left < head; {
		if _, err := s.Next(head - (e.Size - s.Left)); err != nil {
			return nil, err
		}
	}
	if !e.Packed && !f.src.InMemory() && !f.checks {
		return f.src.Slice(e.At+int64(e.head), s.Left)
	}
	b, err := s.Rest(e.Packed)
	if err == nil && f.checks {
		err = e.Compare(s.Sum)
	}
	return b, err
}

// located adds the name of tensor i to an error without a location.
func (f *parsed) located(i int, err error) error {
	var e *format.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return wire.Error("", fmt.Sprintf("tensor %q", f.index.Name(i)), f.entries[i].At, err)
}

// rowMajor returns the elements of an array in Fortran order in row-major order.
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

// transpose copies a matrix of cols contiguous columns, fromCol bytes apart in b, to
// contiguous rows in out. It works in tiles, so that both sides stay in the cache.
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

// swapWords reverses the bytes of every word.
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
