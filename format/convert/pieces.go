package convert

import (
	"context"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/internal/readonce"
	"github.com/weightmap/weightmap/tensor"
)

// pieceElems is the number of elements converted at a time: 256 kB of float32, which fits in a
// cache.
const pieceElems = 1 << 16

// scratch holds buffers that tensors share one after another: garbage of every tensor would take 30
// MB more (TestPeakMemory).
type scratch struct {
	raw    []byte
	whole  []int64
	single []float32
	double []float64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// piece is n elements of a tensor, from first on, and memory to decode them.
type piece struct {
	v     tensor.View
	first int64
	n     int
	mem   *scratch
}

// reader reads the tensors of a model once.
type reader struct {
	ctx context.Context
	*readonce.Reader
}

// each calls f for the pieces of a tensor, in order.
func (r reader) each(v tensor.View, f func(*piece) error) error {
	v, err := r.Tensor(v)
	if err != nil {
		return err
	}
	info := v.Info()
	elems := v.Elems()
	p := piece{v: v, mem: scratches.Get().(*scratch)}
	defer scratches.Put(p.mem)
	for p.first < elems {
		p.n = int(min(pieceElems, elems-p.first))
		r.Used(int64(bytesOf(&info, p.n)))
		err := r.ctx.Err()
		if err != nil {
			return err
		}
		err = f(&p)
		if err != nil {
			return err
		}
		p.first += int64(p.n)
	}
	return nil
}

// bytesOf returns the size of n elements, which are whole blocks.
func bytesOf(info *tensor.Info, n int) int {
	if e := info.Encoding; e != nil {
		return n / int(e.BlockElems) * int(e.BlockBytes)
	}
	return n * int(info.DType.Size())
}

// room returns a slice of n elements, reusing s if it is large enough.
func room[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// decode decodes a piece into mem, growing it if necessary.
func decode[F float32 | float64](p *piece, mem *[]F) ([]F, error) {
	*mem = room(*mem, p.n)
	return *mem, tensor.DecodeAt(*mem, p.v, p.first)
}

// integers decodes a piece of integers. Numbers of Uint64 beyond int64 become negative.
func (p *piece) integers() ([]int64, error) {
	mem := p.mem
	d := p.v.DType()
	size := int(d.Size())
	mem.raw = room(mem.raw, p.n*size)
	mem.whole = room(mem.whole, p.n)
	_, err := p.v.ReadAt(mem.raw, p.first*d.Size())
	own, _ := spanOf(d)
	for i := range mem.whole {
		x := int64(0)
		for k, b := range mem.raw[i*size:][:size] {
			x |= int64(b) << (8 * k)
		}
		if shift := 64 - 8*size; own.low < 0 {
			x = x << shift >> shift
		}
		mem.whole[i] = x
	}
	return mem.whole, err
}

// next converts a piece to the new type, in dst.
func (s *stream) next(p *piece, dst []byte) error {
	_, integer := spanOf(s.item.to.DType)
	switch {
	case s.item.z != nil:
		numbers, err := decode(p, &p.mem.single)
		if err != nil {
			return err
		}
		return s.item.z.Encode(dst, numbers)
	case integer:
		numbers, err := p.integers()
		size := int(s.item.to.DType.Size())
		for i, x := range numbers {
			for k := range size {
				dst[i*size+k] = byte(x >> (8 * k))
			}
		}
		return err
	case p.v.DType() == tensor.Float64:
		return reals(s, p, &p.mem.double, dst)
	}
	return reals(s, p, &p.mem.single, dst)
}

// reals converts a piece of real numbers, by way of mem.
func reals[F float32 | float64](s *stream, p *piece, mem *[]F, dst []byte) error {
	numbers, err := decode(p, mem)
	if err != nil {
		return err
	}
	count(&s.tally, s.item.to.DType, numbers)
	return tensor.Encode(dst, s.item.to.DType, numbers)
}
