package format

import (
	"cmp"
	"iter"
	"slices"

	"github.com/weightmap/weightmap/tensor"
)

// InFileOrder iterates over the tensors by file and offset (tensor.Info.File and Offset), so that a
// program that reads them one after the other reads each file, such as the shards of a model, from
// front to back. Tensors whose data is stored in another form, without an offset, come behind the
// others of their file, in the order of Tensors.
func (m *Model) InFileOrder() iter.Seq2[string, tensor.View] {
	return func(yield func(string, tensor.View) bool) {
		for _, i := range m.fileOrder() {
			v := m.At(i)
			if !yield(v.Name(), v) {
				return
			}
		}
	}
}

// fileOrder returns the indexes of the tensors by file and offset.
func (m *Model) fileOrder() []int {
	type place struct {
		file   int
		offset int64
	}
	order := numbers(m.Len())
	places := make([]place, len(order))
	for i := range places {
		info := m.At(i).Info()
		places[i] = place{info.File, info.Offset}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x := places[a]
		y := places[b]
		if x.file != y.file {
			return cmp.Compare(x.file, y.file)
		}
		return cmp.Compare(uint64(x.offset), uint64(y.offset)) // -1 is the largest
	})
	return order
}
