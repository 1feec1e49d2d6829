package convert

import (
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format/schema"
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

func (s span) holds(low, high int64) bool { return s.low <= low && high <= s.high }

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

// fit changes dtypes that the target lacks to types that hold the same numbers, and scalars to
// shape [1], as far as that is accepted. The format refuses what remains, with a reason.
func (j *job) fit() error {
	byName := j.plan.byName()
	known := map[tensor.DType]bool{}
	takes := func(d tensor.DType) bool {
		if _, ok := known[d]; !ok {
			refused := j.losses(&schema.Schema{Tensors: []tensor.Info{{Name: "0", DType: d,
				Shape: tensor.Shape{1}}}})
			known[d] = !slices.ContainsFunc(refused,
				func(l schema.Loss) bool { return l.Kind == schema.LossDType })
		}
		return known[d]
	}
	for _, l := range j.losses(&schema.Schema{Tensors: j.plan.infos()}) {
		it := byName[l.Name]
		if it == nil {
			continue
		}
		to := it.to.DType
		shape := it.to.Shape
		why := "a scalar is written with the shape [1]"
		switch {
		case l.Kind == schema.LossShape && len(shape) == 0:
			shape = tensor.Shape{1}
		case l.Kind == schema.LossDType && !it.changes:
			fitting, err := j.fitting(it, takes)
			if err != nil {
				return err
			}
			to = fitting
			why = fmt.Sprintf("%v is written as %v, with the same values", it.to.DType, to)
		default:
			continue
		}
		l := schema.Loss{Kind: schema.LossConversion, Name: it.to.Name, Why: why, Acceptable: true}
		if to != tensor.Invalid && j.accept(l) {
			it.changes = it.changes || to != it.to.DType
			it.to.DType = to
			it.to.Shape = shape
		}
	}
	return nil
}

// named reports whether AcceptLoss names a loss, which is then not reported.
func (j *job) named(l schema.Loss) bool {
	return slices.Contains(j.target.AcceptLoss, string(l.Kind)) ||
		slices.Contains(j.target.AcceptLoss, l.Item())
}

// accept reports whether a loss is accepted, and adds it to the report.
func (j *job) accept(l schema.Loss) bool {
	if j.named(l) {
		return true
	}
	if j.o.Lossy {
		j.report.Losses = append(j.report.Losses, l)
	}
	return j.o.Lossy
}

// fitting returns a dtype that the target takes and that holds all numbers of a tensor: a type that
// holds all of its dtype, or an integer type that holds all that it has. It returns Invalid if
// there is none.
func (j *job) fitting(it *item, takes func(tensor.DType) bool) (tensor.DType, error) {
	own, integer := spanOf(it.to.DType)
	candidates := slices.Clone(wider[own.dtype])
	for _, s := range spans {
		if integer && own.dtype != tensor.Uint64 && s.holds(own.low, own.high) && s != own {
			candidates = append(candidates, s.dtype)
		}
	}
	if i := slices.IndexFunc(candidates, takes); i >= 0 {
		return candidates[i], nil
	}
	if !integer || it.to.Quant != nil {
		return tensor.Invalid, nil
	}
	var low, high int64 // of the integers that the tensor has
	err := j.read.each(it.from, func(p *piece) error {
		numbers, err := p.integers()
		if err != nil {
			return err
		}
		low = min(low, slices.Min(numbers))
		high = max(high, slices.Max(numbers))
		return nil
	})
	if err != nil || low < own.low { // numbers of Uint64 beyond int64
		return tensor.Invalid, err
	}
	for _, s := range slices.Backward(spans) {
		if s.holds(low, high) && s != own && takes(s.dtype) {
			return s.dtype, nil
		}
	}
	return tensor.Invalid, nil
}
