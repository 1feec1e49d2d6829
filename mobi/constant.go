package mobi

import (
	"slices"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Constant is a tensor in memory, to be written.
type Constant struct {
	ID    uint32
	DType tensor.DType
	Shape tensor.Shape
	Data  []byte // little-endian, row-major, shape times dtype bytes
	Quant *tensor.Quantization
}

// NewTensor copies v, a view of any format, into a Constant. It fails with
// ErrUnsupported when MOBI has no code for the dtype.
func NewTensor(id uint32, v tensor.View) (Constant, error) {
	if err := checkDType(v.DType(), v.DType().String()); err != nil {
		return Constant{}, constantError(id, err)
	}
	c, err := v.Clone()
	if err != nil {
		return Constant{}, err
	}
	data, err := c.Bytes()
	if err != nil {
		return Constant{}, err
	}
	return Constant{ID: id, DType: v.DType(), Shape: v.Shape().Clone(), Data: data, Quant: v.Info().Quant}, nil
}

// NewTensorBytes makes a Constant over data, which is not copied. It fails with
// ErrShape when data has another size than shape and dtype say, and with
// ErrUnsupported when MOBI has no code for the dtype.
func NewTensorBytes(id uint32, d tensor.DType, shape tensor.Shape, data []byte) (Constant, error) {
	c := Constant{ID: id, DType: d, Shape: shape.Clone(), Data: data}
	if err := checkDType(d, d.String()); err != nil {
		return Constant{}, constantError(id, err)
	}
	if _, err := tensor.FromBytes("", d, shape, data); err != nil {
		return Constant{}, constantError(id, err)
	}
	return c, nil
}

// ToTensor returns the constant as a view of a copy of its own, named by the id.
func (c *Constant) ToTensor() (tensor.View, error) {
	data := memory.Aligned(len(c.Data))
	copy(data, c.Data)
	v, err := tensor.FromBytes(constantName(c.ID), c.DType, c.Shape, data)
	if err != nil {
		return tensor.View{}, constantError(c.ID, err)
	}
	info := v.Info()
	info.Quant = cloneQuant(c.Quant)
	ref := memory.Ref[tensor.Info](v)
	return tensor.View(memory.New(&info, ref.Owner(), data)), nil
}

func cloneQuant(q *tensor.Quantization) *tensor.Quantization {
	if q == nil {
		return nil
	}
	c := *q
	c.Scales, c.ZeroPoints = slices.Clone(q.Scales), slices.Clone(q.ZeroPoints)
	return &c
}

func constantError(id uint32, err error) error {
	return wire.Error(name, "constant "+constantName(id), -1, err)
}
