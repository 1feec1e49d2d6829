package tensor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/internal/work"
)

// Decode returns the tensor's elements as T. It writes them to dst if its capacity suffices
// and allocates otherwise. It works for every alignment, compression and byte order. A large
// tensor of a model is decoded on Options.Workers goroutines, by default one per processor.
//
// If T is float32 or float64, or defined by one of them, Decode accepts every dtype except
// complex64. It converts half-precision, integer and bool elements (to 0 and 1), rounds float64
// to float32, and dequantizes quantized tensors: those with Info().Quant, or with an Encoding
// that can be decoded. Any other T must be one that As accepts for the dtype; Decode then
// returns the stored values. Errors: ErrDType, ErrQuantization, ErrTruncated, ErrClosed.
func Decode[T Elem](dst []T, v View) ([]T, error) {
	err := v.whole(func(r reading) error {
		// Allocate only now: the size that a compressed tensor declares is verified
		// by now.
		info := v.ref().Info()
		if err := undecodable[T](info); err != nil {
			return v.explain(err)
		}
		n := v.Elems()
		one := [1]T{}
		if size := len(memory.BytesOf(one[:])); n > int64(math.MaxInt/size) {
			return v.explain(fmt.Errorf("%w: %d elements are more than this platform can address", ErrLimit, n))
		}
		dst = slices.Grow(dst[:0], int(n))[:n]
		return v.explain(decodeAll(dst, v, r))
	})
	if err != nil {
		return nil, err
	}
	return dst, nil
}

// workerPart is the number of bytes of a tensor that one goroutine decodes at a time.
const workerPart = 1 << 20

// decodeAll decodes all elements.
func decodeAll[T Elem](dst []T, v View, r reading) error {
	elems, bytes := r.info.block()
	each := int(max(workerPart/bytes, 1) * elems)
	stream := vector.Streams(len(dst), r.info.DType.Size())
	model, ok := v.ref().Owner().(memory.Advisor)
	if !ok || each >= len(dst) {
		return decodeFrom(dst, r, 0, stream)
	}
	return work.Each(r.ctx, (len(dst)+each-1)/each, model.Workers(), func(i int) error {
		from := i * each
		return decodeFrom(dst[from:min(from+each, len(dst))], r, int64(from), stream)
	})
}

// decodeFrom decodes the elements from first on. With stream set, the output bypasses the caches.
func decodeFrom[T Elem](dst []T, r reading, first int64, stream bool) error {
	if r.file != nil && memory.LittleEndian && viewable[T](r.info.DType) {
		return r.copy(memory.BytesOf(dst), first*r.info.DType.Size())
	}
	elems, bytes := r.info.block()
	from := first / elems
	end := (first + int64(len(dst)) + elems - 1) / elems
	return r.pieces(from*bytes, (end-from)*bytes, bytes, func(b []byte) error {
		n := min(int64(len(dst)), int64(len(b))/bytes*elems-first%elems)
		err := decodeElements(dst[:n], r.info, b, first, stream)
		dst = dst[n:]
		first += n
		return err
	})
}

// DecodeAt decodes len(dst) elements of the tensor into dst, starting at element first in
// row-major order. It converts as Decode does and does not allocate. A part may begin and end
// anywhere, even within a block of an Encoding. From an io.ReaderAt it reads only the bytes
// of these elements.
// Errors: those of Decode, and ErrShape when the elements lie outside the tensor.
func DecodeAt[T Elem](dst []T, v View, first int64) error {
	info := v.Info()
	if err := undecodable[T](&info); err != nil {
		return v.refusal(err)
	}
	if n := v.Elems(); first < 0 || first > n || int64(len(dst)) > n-first {
		return v.refusal(fmt.Errorf("%w: %d elements from %d on of %d", ErrShape, len(dst), first, n))
	}
	stream := vector.Streams(len(dst), info.DType.Size())
	elems, bytes := info.block()
	size := (int64(len(dst))/elems + 2) * bytes // at most
	return v.access(context.Background(), size, func(r reading) error { return v.explain(decodeFrom(dst, r, first, stream)) })
}

// block returns the number of elements and bytes of a block; without an Encoding that is one
// element.
func (i *Info) block() (elems, bytes int64) {
	if e := i.Encoding; e != nil {
		return e.BlockElems, e.BlockBytes
	}
	return 1, i.DType.Size()
}

// undecodable returns the reason why the elements cannot be decoded as T, or nil if they can.
// It does not check quantization parameters.
func undecodable[T Elem](info *Info) error {
	var zero T
	kind := kindOf[T]()
	isReal := kind == Float32 || kind == Float64
	switch e := info.Encoding; {
	case e != nil && e.Decode == nil:
		return fmt.Errorf("%w: %s elements cannot be read as numbers", ErrDType, e.Name)
	case e != nil && isReal:
		_, err := e.Bytes(info.Shape)
		return err
	case info.Quant != nil && isReal:
		return info.Quant.Check(info.DType, info.Shape)
	case e != nil || !viewable[T](info.DType) && (!isReal || !info.DType.Valid() || info.DType == Complex64):
		return fmt.Errorf("%w: %s does not decode as %T", ErrDType, info.TypeName(), zero)
	}
	return nil
}

// decodeElements fills dst with the elements from first on, from b, which begins with a block.
func decodeElements[T Elem](dst []T, info *Info, b []byte, first int64, stream bool) error {
	d := info.DType
	isPlain := info.Encoding == nil && info.Quant == nil
	single, isSingle := floats[float32](dst)
	double, isDouble := floats[float64](dst)
	switch {
	case (isPlain || !isSingle && !isDouble) && viewable[T](d):
		vector.Copy(dst, b, d.wordSize())
		return nil
	case isSingle:
		return info.decode(single, b, first, stream)
	case isPlain && d.Size() >= 4: // float32 does not hold all of them
		numbers[d].double(double, b, stream)
		return nil
	}
	// Convert in place from float32 in the second half of the memory.
	single = singles(double)[len(double):]
	err := info.decode(single, b, first, stream)
	for i, x := range single {
		double[i] = float64(x)
	}
	return err
}

// decode decodes elements to real numbers, each rounded once.
func (i *Info) decode(dst []float32, b []byte, first int64, stream bool) error {
	switch q := i.Quant; {
	case i.Encoding != nil:
		return decodeBlocks(dst, b, int(first%i.Encoding.BlockElems), i.Encoding)
	case q != nil:
		q.convert(dst, b, i.DType, i.Shape, first, stream)
	default:
		toFloat32(dst, b, i.DType, stream)
	}
	return nil
}

// scratch holds memory for intermediate numbers.
var scratch = sync.Pool{New: func() any { return new([]float64) }}

// borrow returns memory for n numbers from scratch.
func borrow(n int) *[]float64 {
	room := scratch.Get().(*[]float64)
	*room = slices.Grow((*room)[:0], n)[:n]
	return room
}

// singles returns the memory of numbers as twice as many float32.
func singles(s []float64) []float32 {
	all, _ := memory.Cast[float32](memory.BytesOf(s))
	return all
}

// kinds are the integers that vector loops dequantize.
var kinds = map[DType]vector.Kind{Int8: vector.Int8, Uint8: vector.Uint8, Int16: vector.Int16, Uint16: vector.Uint16}

// numbers convert elements of all other types.
var numbers = [numDTypes]struct {
	// single is nil for kinds, and double for types that float32 holds and that are no integers.
	single func(dst []float32, b []byte, stream bool)
	double func(dst []float64, b []byte, stream bool)
}{
	Float64:  {vector.Float64, vector.Numbers[float64, float64]},
	Float32:  {vector.Numbers[float32, float32], vector.Numbers[float32, float64]},
	Float16:  {vector.Float16, nil},
	BFloat16: {vector.BFloat16, nil},
	Int64:    {vector.Numbers[int64, float32], vector.Numbers[int64, float64]},
	Int32:    {vector.Int32, vector.Numbers[int32, float64]},
	Int16:    {nil, vector.Numbers[int16, float64]},
	Int8:     {nil, vector.Numbers[int8, float64]},
	Uint64:   {vector.Numbers[uint64, float32], vector.Numbers[uint64, float64]},
	Uint32:   {vector.Numbers[uint32, float32], vector.Numbers[uint32, float64]},
	Uint16:   {nil, vector.Numbers[uint16, float64]},
	Uint8:    {nil, vector.Numbers[uint8, float64]},
}

// toFloat32 converts elements without quantization parameters.
func toFloat32(dst []float32, b []byte, d DType, stream bool) {
	if kind, ok := kinds[d]; ok {
		vector.Linear(dst, b, kind, 1, 0, stream)
	} else if table, ok := tables[d]; ok {
		vector.Lookup(dst, b, table())
	} else {
		numbers[d].single(dst, b, stream)
	}
}
