package convert

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/weightmap/weightmap/internal/readonce"
	"github.com/weightmap/weightmap/tensor"
)

// pieceElems is the number of elements converted at a time: 256 kB of float32, which fits in a cache.
const pieceElems = 1 << 16

// scratch holds buffers that tensors share one after another.
type scratch struct {
	raw    []byte
	whole  []int64
	single []float32
	double []float64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// source reads the numbers of a tensor in order.
type source struct {
	ctx   context.Context
	read  *readonce.Reader
	v     tensor.View
	info  tensor.Info
	pos   int64
	elems int64
}

func (j *job) source(v tensor.View) (*source, error) {
	v, err := j.read.Tensor(v)
	return &source{ctx: j.o.Context, read: j.read, v: v, info: v.Info(), elems: v.Len()}, err
}

func (s *source) more() bool { return s.pos < s.elems }

// take advances to the next piece and returns its number of elements.
func (s *source) take() (n int64, err error) {
	n = min(pieceElems, s.elems-s.pos)
	s.read.Used(s.offset(s.pos+n) - s.offset(s.pos))
	s.pos += n
	return n, s.ctx.Err()
}

// next decodes the next piece into mem, growing it if necessary.
func next[F float32 | float64](s *source, mem *[]F) ([]F, error) {
	first := s.pos
	n, err := s.take()
	if err != nil {
		return nil, err
	}
	*mem = room(*mem, int(n))
	return *mem, tensor.DecodeAt(*mem, s.v, first)
}

// integers reads the next piece of integers into mem, growing it if necessary. Numbers of Uint64 beyond
// int64 become negative.
func (s *source) integers(mem *scratch) ([]int64, error) {
	first := s.offset(s.pos)
	n, err := s.take()
	if err != nil {
		return nil, err
	}
	size := s.info.DType.Size()
	mem.raw, mem.whole = room(mem.raw, int(n*size)), room(mem.whole, int(n))
	_, err = s.v.ReadAt(mem.raw, first)
	own, _ := spanOf(s.info.DType)
	var eight [8]byte
	for i := range mem.whole {
		copy(eight[:], mem.raw[int64(i)*size:][:size])
		x := int64(binary.LittleEndian.Uint64(eight[:]))
		if shift := 64 - 8*size; own.low < 0 {
			x = x << shift >> shift
		}
		mem.whole[i] = x
	}
	return mem.whole, err
}

// room returns a slice of n elements, reusing s if it is large enough.
func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// offset returns the byte offset of element i, or of its block.
func (s *source) offset(i int64) int64 {
	if e := s.info.Encoding; e != nil {
		return i / e.BlockElems * e.BlockBytes
	}
	return i * s.info.DType.Size()
}

// next converts the next piece of src, in dst if it is large enough.
func (s *stream) next(src *source, mem *scratch, dst []byte) ([]byte, error) {
	_, integer := spanOf(s.to.DType)
	switch {
	case s.z != nil:
		numbers, err := next(src, &mem.single)
		if err != nil {
			return nil, err
		}
		dst = s.buffer(dst, len(numbers))
		return dst, s.z.Encode(dst, numbers)
	case integer:
		numbers, err := src.integers(mem)
		dst = s.buffer(dst, len(numbers))
		var eight [8]byte
		size := int(s.to.DType.Size())
		for i, x := range numbers {
			binary.LittleEndian.PutUint64(eight[:], uint64(x))
			copy(dst[i*size:][:size], eight[:])
		}
		return dst, err
	case src.info.DType == tensor.Float64:
		return reals(s, src, &mem.double, dst)
	}
	return reals(s, src, &mem.single, dst)
}

// reals converts the next piece of real numbers, by way of mem.
func reals[F float32 | float64](s *stream, src *source, mem *[]F, dst []byte) ([]byte, error) {
	numbers, err := next(src, mem)
	if err != nil {
		return nil, err
	}
	count(&s.tally, s.to.DType, numbers)
	dst = s.buffer(dst, len(numbers))
	return dst, tensor.Encode(dst, s.to.DType, numbers)
}

// buffer returns a buffer for n elements of the new type.
func (s *stream) buffer(dst []byte, n int) []byte {
	if e := s.to.Encoding; e != nil {
		return room(dst, n/int(e.BlockElems)*int(e.BlockBytes))
	}
	return room(dst, n*int(s.to.DType.Size()))
}
