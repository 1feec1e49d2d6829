package format

import (
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

// ShardRequests returns the requests for Model.Load of one member of a tensor-parallel group: one
// for each tensor, in the order of Tensors, with the slice that belongs to rank (0 <= rank < size).
// rule returns the axis along which the tensor with a name is split into size equal parts (-1 is
// the innermost), and false for a tensor that every member has whole, such as a norm; a nil rule
// splits none. The requests have no memory yet: set Bytes or Floats.
//
// The error is ErrShape, with the name of the tensor, if it has no such axis or its dim is not a
// multiple of size, and ErrOption for a rank outside the group.
func ShardRequests(m *Model, rank, size int, rule func(name string) (axis int, isSplit bool)) (requests []Request, err error) {
	if rank < 0 || rank >= size {
		return nil, fmt.Errorf("%w: rank %d of a group of %d", ErrOption, rank, size)
	}
	if err := m.Guard(func() error { return nil }); err != nil {
		return nil, err
	}
	requests = make([]Request, 0, m.Len())
	for name, v := range m.Tensors() {
		q := Request{Tensor: name}
		if rule != nil {
			axis, isSplit := rule(name)
			if isSplit {
				part, err := shardOf(v.Shape(), axis, int64(rank), int64(size))
				if err != nil {
					return nil, &tensor.Error{Format: m.Format(), Path: m.Path(), Field: tensorField(name), Offset: -1, Err: err}
				}
				q.Slice = part
			}
		}
		requests = append(requests, q)
	}
	return requests, nil
}

// shardOf returns the ranges of one of size equal parts along an axis.
func shardOf(shape tensor.Shape, axis int, rank, size int64) ([]tensor.Range, error) {
	at := axis
	if at < 0 {
		at += len(shape)
	}
	if at < 0 || at >= len(shape) {
		return nil, fmt.Errorf("%w: %v has no axis %d", ErrShape, shape, axis)
	}
	if shape[at]%size != 0 {
		return nil, fmt.Errorf("%w: axis %d of %v is not a multiple of %d", ErrShape, axis, shape, size)
	}
	ranges := make([]tensor.Range, at+1)
	for i := range ranges {
		ranges[i] = tensor.Range{To: tensor.End}
	}
	n := shape[at] / size
	ranges[at] = tensor.Range{From: rank * n, To: (rank + 1) * n}
	return ranges, nil
}
