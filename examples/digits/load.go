package digits

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Load finds the weights of the network in a model of any format and checks their shapes. Float32
// weights are views of the model and become invalid when it is closed. Other types are decoded and
// dequantized; on a big-endian host, all weights are decoded. Errors are ErrNotFound, ErrShape,
// ErrDType, ErrQuantization, and read errors.
func Load(m *format.Model) (*Weights, error) {
	found, err := named(m)
	if err != nil {
		return nil, err
	}
	w := &Weights{}
	for want, place := range w.Parameters() {
		v, ok := found[want.Name]
		if !ok {
			return nil, fmt.Errorf("%s: tensor %s: %w", m.Path(), want.Name, format.ErrNotFound)
		}
		if !slices.Equal(v.Shape(), want.Shape) {
			return nil, fmt.Errorf("%s: tensor %s: %w: %v, not %v", m.Path(), want.Name, format.ErrShape, v.Shape(), want.Shape)
		}
		values, copied, err := floats(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path(), err)
		}
		*place = values
		w.Copied += copied
	}
	return w, nil
}

// named returns the tensors by their original names. MOBI numbers tensors, and stores the names in
// an operator of the graph.
func named(m *format.Model) (map[string]tensor.View, error) {
	found := map[string]tensor.View{}
	p, err := m.Schema()
	if err != nil {
		return nil, err
	}
	if err := m.RestoreNames(p); err != nil {
		return nil, err
	}
	for i, t := range p.Tensors {
		found[t.Name] = m.At(i)
	}
	return found, nil
}

// floats returns a tensor as float32, and the number of bytes that were allocated for it.
func floats(v tensor.View) (values []float32, copied int64, err error) {
	info := v.Info()
	if info.DType == tensor.Float32 && info.Quant == nil && v.ZeroCopy() {
		values, err = tensor.As[float32](v)
		if !errors.Is(err, tensor.ErrByteOrder) {
			return values, 0, err
		}
	}
	if info.Quant == nil && !isReal(info.DType) {
		return nil, 0, fmt.Errorf("tensor %s: %w: %v without scale", info.Name, tensor.ErrQuantization, info.DType)
	}
	values, err = tensor.Decode[float32](nil, v)
	return values, 4 * int64(len(values)), err
}

// isReal reports whether elements of d are weights without dequantization.
func isReal(d tensor.DType) bool {
	return d == tensor.Float64 || d == tensor.Float32 || d == tensor.Float16 || d == tensor.BFloat16
}
