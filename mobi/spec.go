package mobi

import (
	"math"
	"slices"

	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Dynamic is a dim of a Spec that is decided at run time.
const Dynamic uint64 = math.MaxUint64

// Spec describes an input or an output of the model. Dims are plain numbers and
// not multiplied with anything; the dtype is the file's code, known or not.
type Spec struct {
	Name string
	Type DataType
	Dims []uint64 // outermost first; Dynamic when not fixed
}

// NewSpec makes a Spec; negative dims are dynamic.
func NewSpec(name string, t DataType, dims ...int64) Spec {
	s := Spec{Name: name, Type: t, Dims: make([]uint64, len(dims))}
	for i, d := range dims {
		s.Dims[i] = uint64(d)
		if d < 0 {
			s.Dims[i] = Dynamic
		}
	}
	return s
}

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
	if err := checkDType(v.DType()); err != nil {
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
// ErrShape when data have not as many bytes as shape and dtype say, and with
// ErrUnsupported when MOBI has no code for the dtype.
func NewTensorBytes(id uint32, d tensor.DType, shape tensor.Shape, data []byte) (Constant, error) {
	c := Constant{ID: id, DType: d, Shape: shape.Clone(), Data: data}
	if err := checkDType(d); err != nil {
		return Constant{}, constantError(id, err)
	}
	if err := c.check(); err != nil {
		return Constant{}, constantError(id, err)
	}
	return c, nil
}

// check compares the data with shape and dtype.
func (c *Constant) check() error {
	_, err := tensor.FromBytes("", c.DType, c.Shape, c.Data)
	return err
}

// ToTensor returns the constant as a view of a copy of its own, named by the id.
func (c *Constant) ToTensor() (tensor.View, error) {
	if err := c.check(); err != nil {
		return tensor.View{}, constantError(c.ID, err)
	}
	data := tensor.AlignedBytes(len(c.Data))
	copy(data, c.Data)
	size := int64(len(data))
	info := &tensor.Info{
		Name: constantName(c.ID), DType: c.DType, Shape: c.Shape.Clone(),
		Offset: -1, Size: size, Stored: size, Quant: cloneQuant(c.Quant),
	}
	return tensor.NewView(info, mapped.FromBytes(data), data), nil
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
