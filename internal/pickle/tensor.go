package pickle

import (
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

var leastArgs = [...]int{tensorV1: 4, tensorV2: 6, tensorV3: 7}

// tensor adds the tensor that a call rebuilds from a storage, an offset, a shape and strides, all
// in elements.
func (w *Walk) tensor(c *call) error {
	if len(c.args) < leastArgs[c.role] {
		return w.bad(c, "a call of %s with %d arguments", c.global.Name, len(c.args))
	}
	s, err := w.f.Storage(w.m, c.arg(0))
	if err != nil {
		return err
	}
	elem := s.Elem
	if c.role == tensorV3 {
		g := w.m.Class(c.arg(6))
		if w.m.values[c.arg(6)].kind != GlobalKind || g.role != dtypeName && g.Module != "torch" {
			return w.bad(c, "a dtype of type %.200q", w.m.KindOf(c.arg(6)))
		}
		elem = g.elem
	}
	if s.Elem == nil || elem == nil {
		w.skip("tensor of elements of an unknown type")
		return nil
	}
	offset, isInt := w.m.Int(c.arg(1))
	var good, well bool
	w.shape, good = w.numbers(w.shape, c.arg(2))
	w.strides, well = w.numbers(w.strides, c.arg(3))
	if !isInt || offset < 0 || !good || !well || len(w.shape) != len(w.strides) || len(w.shape) > maxRank {
		return w.bad(c, "a tensor at %d of rank %d with %d strides", offset, len(w.shape), len(w.strides))
	}
	size, err := elem.bytes(w.shape)
	if err != nil {
		return w.m.Errorf(c.r, tensor.ErrCorrupt, "a tensor: %w", err)
	}
	p := s.Place
	p.Elem = int(elem.Size)
	p.Extent = 0
	p.Stride = nil
	if size > 0 {
		extent, contiguous, err := measure(offset, w.shape, w.strides, s.Count*s.Elem.Size/elem.Size)
		if err != nil {
			return w.m.Errorf(c.r, tensor.ErrCorrupt, "a tensor: %w", err)
		}
		p.From += offset * elem.Size
		p.Extent = extent * elem.Size
		if !contiguous {
			if err := w.memory.Reserve(8 * int64(len(w.strides))); err != nil {
				return w.m.Errorf(c.r, tensor.ErrLimit, "strides: %w", err)
			}
			p.Stride = slices.Clone(w.strides)
		}
		if s.Big && elem.Word > 1 {
			p.Swap = elem.Word
		}
	}
	w.found = driver.Tensor{DType: elem.DType, Encoding: elem.Enc, Shape: w.shape, Size: size}
	return w.add(p)
}

// bad is the error for a call that torch.save does not write.
func (w *Walk) bad(c *call, text string, args ...any) error {
	return w.m.Errorf(c.r, tensor.ErrCorrupt, "%s is not as torch.save writes it", fmt.Sprintf(text, args...))
}

// numbers reads a tuple, torch.Size or list of integers that are not negative into list.
func (w *Walk) numbers(list []int64, r Ref) (to []int64, ok bool) {
	m := w.m
	if g := m.Class(r); m.values[r].kind == ObjectKind && g != nil && g.role == sequence && len(m.Args(r)) == 1 {
		r = Ref(m.Args(r)[0])
	}
	list = list[:0]
	if m.values[r].kind != TupleKind || m.values[r].n > maxRank {
		return list, false
	}
	for _, item := range m.Items(r) {
		n, isInt := m.Int(Ref(item))
		if !isInt || n < 0 {
			return list, false
		}
		list = append(list, n)
	}
	return list, true
}

// measure returns the distance in elements from the first element of a tensor to the end of the
// last, and whether the elements are in row-major order without gaps. They must be in a storage of
// have elements.
func measure(offset int64, shape tensor.Shape, strides []int64, have int64) (extent int64, contiguous bool, err error) {
	last := offset
	packed := int64(1) // the stride without gaps
	contiguous = true
	for i := len(shape) - 1; i >= 0; i-- {
		d := shape[i]
		stride := strides[i]
		if d > 1 && stride > (math.MaxInt64-last)/(d-1) {
			return 0, false, fmt.Errorf("shape %v with strides %v leaves its storage", shape, strides)
		}
		last += (d - 1) * stride
		contiguous = contiguous && (d == 1 || stride == packed)
		packed *= d
	}
	if last >= have {
		return 0, false, fmt.Errorf("shape %v with strides %v ends at element %d of a storage of %d", shape, strides, last, have)
	}
	return last - offset + 1, contiguous, nil
}
