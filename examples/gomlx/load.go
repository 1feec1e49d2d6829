// Package gomlx loads models into GoMLX, from safetensors or any other format that the program imports.
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

// Tensors reads all tensors of m into the memory of GoMLX tensors, which outlive m: one copy, since that memory
// belongs to GoMLX.
func Tensors(m *format.Model) (map[string]*tensors.Tensor, error) {
	loaded := make(map[string]*tensors.Tensor, m.Len())
	var names []string
	for name, v := range m.Tensors() {
		dtype, ok := dtypes.MapOfNames[v.DType().String()]
		if !ok {
			return nil, fmt.Errorf("%q: GoMLX has no %v", name, v.DType())
		}
		t := tensors.FromShape(shapes.Make(dtype, dims(v)...))
		if loaded[name] = t; t.Size() > 0 {
			names = append(names, name)
		}
	}
	return loaded, fill(m, loaded, names, nil)
}

// fill has the memory of the tensors of these names added to the requests, and then loads all of them.
func fill(m *format.Model, loaded map[string]*tensors.Tensor, names []string, requests []format.Request) error {
	if len(names) == 0 {
		return m.Load(context.Background(), requests, nil)
	}
	var err error
	access := loaded[names[0]].MutableBytes(func(b []byte) {
		err = fill(m, loaded, names[1:], append(requests, format.Request{Tensor: names[0], Bytes: b}))
	})
	return errors.Join(access, err)
}

// Constants makes a constant of each tensor of m. A backend that keeps the slice it is given, as the one in Go does,
// computes with the mapping itself: nothing is copied, and m must stay open.
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

// dims returns the shape as GoMLX has it.
func dims(v tensor.View) (d []int) {
	for _, n := range v.Shape() {
		d = append(d, int(n))
	}
	return d
}

// slice returns the elements of v where they are mapped.
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
