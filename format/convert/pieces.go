package convert

import (
	"context"
	"sync"

	"github.com/weightmap/weightmap/internal/readonce"
	"github.com/weightmap/weightmap/tensor"
)

// pieceElems is how many elements are converted at a time: a megabyte of float32.
const pieceElems = 1 << 18

// scratch is memory that one tensor after the other uses.
type scratch struct {
	raw    []byte
	single []float32
	double []float64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// source reads the numbers of a tensor from front to back.
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

// next returns the numbers of the next piece, in dst if there is room.
func next[F float32 | float64](s *source, dst []F) ([]F, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	n := min(pieceElems, s.elems-s.pos)
	dst = room(dst, int(n))
	err := tensor.DecodeAt(dst, s.v, s.pos)
	s.read.Used(s.offset(s.pos+n) - s.offset(s.pos))
	s.pos += n
	return dst, err
}

// floats calls f with the numbers of the next piece: where they are, if they are float32
// in the mapping, else in mem.
func (s *source) floats(mem *scratch, f func([]float32) error) error {
	if s.info.DType != tensor.Float32 || s.info.Quant != nil || !s.v.ZeroCopy() {
		numbers, err := next(s, mem.single)
		if err != nil {
			return err
		}
		mem.single = numbers
		return f(numbers)
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	n := min(pieceElems, s.elems-s.pos)
	err := s.v.Use(func(b []byte) error {
		v, err := tensor.FromBytes(s.info.Name, tensor.Float32, tensor.Shape{n}, b[s.offset(s.pos):s.offset(s.pos+n)])
		if err != nil {
			return err
		}
		numbers, err := tensor.As[float32](v)
		if err != nil {
			return err
		}
		return f(numbers)
	})
	s.pos += n
	s.read.Used(4 * n)
	return err
}

// room returns n elements, in s if it is large enough.
func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// offset returns where element i begins, or the block that it is in.
func (s *source) offset(i int64) int64 {
	if e := s.info.Encoding; e != nil {
		return i / e.BlockElems * e.BlockBytes
	}
	return i * s.info.DType.Size()
}

// converter makes the data of a tensor in its new dtype.
type converter struct {
	*source
	to *tensor.Info
	z  *tensor.Quantizer
	s  *scratch
	tally
}

// tally counts what became of numbers in a narrower type.
type tally struct {
	lost            int64 // finite before, infinite now
	nonzero, zeroed int64 // that were not 0, and those of them that are now
}

// convert returns the next piece, in dst if there is room.
func (c *converter) convert(dst []byte) (_ []byte, err error) {
	if _, integer := spanOf(c.to.DType); integer && c.z == nil {
		return c.integers(dst)
	}
	if c.info.DType == tensor.Float64 && c.z == nil {
		if c.s.double, err = next(c.source, c.s.double); err != nil {
			return nil, err
		}
		return encode(c, dst, c.s.double)
	}
	err = c.floats(c.s, func(numbers []float32) (err error) {
		if c.z == nil {
			dst, err = encode(c, dst, numbers)
			return err
		}
		dst = c.buffer(dst, len(numbers))
		return c.z.Encode(dst, numbers)
	})
	return dst, err
}

func encode[F float32 | float64](c *converter, dst []byte, numbers []F) ([]byte, error) {
	dst = c.buffer(dst, len(numbers))
	err := tensor.Encode(dst, c.to.DType, numbers)
	if err == nil {
		t := narrowed(c.to.DType, dst, numbers)
		c.lost, c.nonzero, c.zeroed = c.lost+t.lost, c.nonzero+t.nonzero, c.zeroed+t.zeroed
	}
	return dst, err
}

// buffer returns memory for n elements of the new type.
func (c *converter) buffer(dst []byte, n int) []byte {
	if e := c.to.Encoding; e != nil {
		return room(dst, n/int(e.BlockElems)*int(e.BlockBytes))
	}
	return room(dst, n*int(c.to.DType.Size()))
}
