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

// raw reads the bytes of the next piece into mem, growing it if necessary.
func (s *source) raw(mem *[]byte) ([]byte, error) {
	first := s.offset(s.pos)
	n, err := s.take()
	if err != nil {
		return nil, err
	}
	*mem = room(*mem, int(s.offset(n)))
	_, err = s.v.ReadAt(*mem, first)
	return *mem, err
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

// converter converts the data of a tensor to its new dtype.
type converter struct {
	*source
	to  *tensor.Info
	z   *tensor.Quantizer
	mem *scratch
	tally
}

// convert returns the next piece, in dst if it is large enough.
func (c *converter) convert(dst []byte) ([]byte, error) {
	if _, integer := spanOf(c.to.DType); integer && c.z == nil {
		return c.integers(dst)
	}
	if c.info.DType == tensor.Float64 && c.z == nil {
		return reals(c, &c.mem.double, dst)
	}
	return reals(c, &c.mem.single, dst)
}

// reals converts the next piece of real numbers, by way of mem.
func reals[F float32 | float64](c *converter, mem *[]F, dst []byte) ([]byte, error) {
	numbers, err := next(c.source, mem)
	if err != nil {
		return nil, err
	}
	if dst = c.buffer(dst, len(numbers)); c.z != nil {
		return dst, c.z.Encode(dst, c.mem.single)
	}
	count(&c.tally, c.to.DType, numbers)
	return dst, tensor.Encode(dst, c.to.DType, numbers)
}

// integers converts the next piece of integers to another integer type.
func (c *converter) integers(dst []byte) ([]byte, error) {
	raw, err := c.raw(&c.mem.raw)
	if err != nil {
		return nil, err
	}
	in, size := int(c.info.DType.Size()), int(c.to.DType.Size())
	dst = c.buffer(dst, len(raw)/in)
	var eight [8]byte
	for i := range len(dst) / size {
		x, _ := integerAt(raw[i*in:], c.info.DType)
		binary.LittleEndian.PutUint64(eight[:], uint64(x))
		copy(dst[i*size:][:size], eight[:])
	}
	return dst, nil
}

// buffer returns a buffer for n elements of the new type.
func (c *converter) buffer(dst []byte, n int) []byte {
	if e := c.to.Encoding; e != nil {
		return room(dst, n/int(e.BlockElems)*int(e.BlockBytes))
	}
	return room(dst, n*int(c.to.DType.Size()))
}
