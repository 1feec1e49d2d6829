package convert

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// wider lists, for each floating-point type, the types that hold all its numbers.
var wider = map[tensor.DType][]tensor.DType{
	tensor.Float8E4M3FN: {tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64},
	tensor.Float8E5M2:   {tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64},
	tensor.Float16:      {tensor.Float32, tensor.Float64},
	tensor.BFloat16:     {tensor.Float32, tensor.Float64},
	tensor.Float32:      {tensor.Float64},
}

// span is the range of an integer type, limited to int64.
type span struct {
	dtype     tensor.DType
	low, high int64
}

// spans are the integer types, in the order in which they are tried.
var spans = []span{
	{tensor.Int8, math.MinInt8, math.MaxInt8}, {tensor.Uint8, 0, math.MaxUint8},
	{tensor.Int16, math.MinInt16, math.MaxInt16}, {tensor.Uint16, 0, math.MaxUint16},
	{tensor.Int32, math.MinInt32, math.MaxInt32}, {tensor.Uint32, 0, math.MaxUint32},
	{tensor.Int64, math.MinInt64, math.MaxInt64},
}

// spanOf returns the span of an integer type. Numbers beyond int64 are checked one by one.
func spanOf(d tensor.DType) (span, bool) {
	i := slices.IndexFunc(spans, func(s span) bool { return s.dtype == d })
	if i < 0 {
		return span{d, 0, math.MaxInt64}, d == tensor.Uint64
	}
	return spans[i], true
}

// fit changes dtypes that the target lacks to types that hold the same numbers, and scalars to shape
// [1], as far as that is accepted.
func (j *job) fit() error {
	takes := map[tensor.DType]bool{}
	byName := make(map[string]*item, len(j.items))
	for _, it := range j.items {
		byName[it.to.Name] = it
	}
	for _, l := range j.lossesOf(j.infos()) {
		it := byName[l.Name]
		if it == nil || l.Kind != driver.LossShape && (l.Kind != driver.LossDType || it.changes) {
			continue
		}
		to, fits, err := j.fitting(it, l.Kind, takes)
		if err != nil {
			return err
		}
		if !fits {
			continue // the format refuses it with a reason
		}
		l := format.Loss{Kind: driver.LossConversion, Name: it.to.Name, Why: "a scalar is written with the shape [1]", Acceptable: true}
		if to.DType != it.to.DType {
			l.Why = fmt.Sprintf("%v is written as %v, with the same values", it.to.DType, to.DType)
		}
		accepted, reported := j.accepts(l)
		if !accepted {
			continue
		}
		if reported {
			j.report.Losses = append(j.report.Losses, l)
		}
		it.changes = it.changes || to.DType != it.to.DType
		it.to.DType, it.to.Shape = to.DType, to.Shape
	}
	return nil
}

// accepts reports whether a loss is accepted, and whether to report it.
func (j *job) accepts(l format.Loss) (accepted, reported bool) {
	named := slices.Contains(j.o.AcceptLoss, string(l.Kind)) || slices.Contains(j.o.AcceptLoss, l.Item())
	return named || j.o.Lossy, !named
}

// fitting returns a dtype and shape that the target accepts, if there are any. takes caches the dtypes
// that it accepts.
func (j *job) fitting(it *item, kind format.LossKind, takes map[tensor.DType]bool) (to tensor.Info, fits bool, err error) {
	to = tensor.Info{DType: it.to.DType, Shape: it.to.Shape}
	if kind == driver.LossShape {
		to.Shape = tensor.Shape{1}
		return to, len(it.to.Shape) == 0, nil
	}
	for _, d := range j.candidates(it) {
		if _, asked := takes[d]; !asked {
			refused := j.lossesOf([]tensor.Info{{Name: "0", DType: d, Shape: tensor.Shape{1}}})
			takes[d] = !slices.ContainsFunc(refused, func(l format.Loss) bool { return l.Kind == driver.LossDType })
		}
		if !takes[d] {
			continue
		}
		if holds, err := j.holds(d, it); err != nil || holds {
			to.DType = d
			return to, holds, err
		}
	}
	return to, false, nil
}

// candidates lists the types that may hold a tensor's numbers: first those that hold all numbers of
// its dtype, then other integer types.
func (j *job) candidates(it *item) []tensor.DType {
	d := it.to.DType
	own, integer := spanOf(d)
	if !integer {
		return wider[d]
	}
	var any, some []tensor.DType
	for _, s := range spans {
		switch {
		case s.dtype == d:
		case s.low <= own.low && own.high <= s.high && d != tensor.Uint64:
			any = append(any, s.dtype)
		case it.to.Quant == nil:
			some = append([]tensor.DType{s.dtype}, some...)
		}
	}
	return append(any, some...)
}

// holds reports whether a candidate holds all numbers of a tensor.
func (j *job) holds(d tensor.DType, it *item) (bool, error) {
	to, integer := spanOf(d)
	if own, _ := spanOf(it.to.DType); !integer || to.low <= own.low && own.high <= to.high && it.to.DType != tensor.Uint64 {
		return true, nil
	}
	s, err := j.source(it.from)
	if err != nil {
		return false, err
	}
	var mem []byte
	for s.more() {
		raw, err := s.raw(&mem)
		if err != nil {
			return false, err
		}
		for size := int(it.to.DType.Size()); len(raw) > 0; raw = raw[size:] {
			if x, ok := integerAt(raw, it.to.DType); !ok || x < to.low || x > to.high {
				return false, nil
			}
		}
	}
	return true, nil
}

// integerAt returns the first element of b. ok is false if it exceeds int64.
func integerAt(b []byte, d tensor.DType) (x int64, ok bool) {
	var eight [8]byte
	copy(eight[:], b[:d.Size()])
	x = int64(binary.LittleEndian.Uint64(eight[:]))
	if own, _ := spanOf(d); own.low < 0 {
		shift := 64 - 8*d.Size()
		x = x << shift >> shift
	}
	return x, d != tensor.Uint64 || x >= 0
}
