// Package gomlx loads models of any imported format into GoMLX.
package gomlx

import (
	"context"
	"errors"
	"fmt"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Tensors returns copies of all tensors of m in memory of GoMLX. They remain valid after m is
// closed.
func Tensors(m *format.Model) (map[string]*tensors.Tensor, error) {
	var names []string
	for name := range m.Tensors() {
		names = append(names, name)
	}
	return load(context.Background(), m, names)
}

// load returns copies of tensors of m.
func load(
	ctx context.Context, m *format.Model, names []string,
) (map[string]*tensors.Tensor, error) {
	loaded := make(map[string]*tensors.Tensor, len(names))
	var filled []string
	for _, name := range names {
		v, err := m.Tensor(name)
		if err != nil {
			return nil, err
		}
		dtype, ok := dtypes.MapOfNames[v.DType().String()]
		if !ok {
			return nil, fmt.Errorf("%q: GoMLX has no %v", name, v.DType())
		}
		t := tensors.FromShape(shapes.Make(dtype, dims(v)...))
		loaded[name] = t
		if t.Size() > 0 {
			filled = append(filled, name)
		}
	}
	return loaded, fill(ctx, m, loaded, filled, nil)
}

// fill adds requests for the named tensors, with the memory of the GoMLX tensors as destination,
// and loads them.
func fill(
	ctx context.Context, m *format.Model, loaded map[string]*tensors.Tensor,
	names []string, requests []format.Request,
) error {
	if len(names) == 0 {
		return m.Load(ctx, requests, nil)
	}
	var err error
	access := loaded[names[0]].MutableBytes(func(b []byte) {
		requests = append(requests, format.Request{Tensor: names[0], Bytes: b})
		err = fill(ctx, m, loaded, names[1:], requests)
	})
	return errors.Join(access, err)
}

// Constants returns a constant for each tensor of m. A backend that keeps the slice it is given,
// such as the pure-Go one, then computes on the mapping without copying; m must stay open.
func Constants(b backends.Builder, m *format.Model) (map[string]backends.Op, error) {
	constants := make(map[string]backends.Op, m.Len())
	for name, v := range m.Tensors() {
		flat, err := slice(v)
		if err == nil {
			constants[name], err = b.Constant(flat, dims(v)...)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
	}
	return constants, nil
}

// dims returns the shape in GoMLX's form.
func dims(v tensor.View) (d []int) {
	for _, n := range v.Shape() {
		d = append(d, int(n))
	}
	return d
}

// slice returns the elements of v as a slice of the mapping.
func slice(v tensor.View) (any, error) {
	switch v.DType() {
	case tensor.Float32:
		return tensor.As[float32](v)
	case tensor.Int64:
		return tensor.As[int64](v)
	case tensor.Int8:
		return tensor.As[int8](v)
	}
	return nil, tensor.ErrDType
}
