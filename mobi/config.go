package mobi

import (
	"bytes"
	"io"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Config is a complete model in memory, written in one call. Use Create to stream
// larger models.
type Config struct {
	Name             string
	FrameworkVersion uint32
	Time             time.Time // of creation; zero means none
	Inputs           []Spec
	Outputs          []Spec
	Constants        []Constant // ids are unique
	Operators        []Operator
	Flags            Flags // in addition to those that follow from the constants

	Gzip   int    // see WriteOptions
	Footer Footer // see WriteOptions
}

// Save writes the model to path and replaces an existing file.
func (c *Config) Save(path string) error {
	w, err := Create(path, c.plan(), c.options())
	return c.write(w, err)
}

// WriteTo writes the model to w.
func (c *Config) WriteTo(w io.Writer) (int64, error) {
	b, err := c.Bytes()
	if err != nil {
		return 0, err
	}
	n, err := w.Write(b)
	return int64(n), err
}

// Bytes returns the model as a file in memory.
func (c *Config) Bytes() ([]byte, error) {
	var out bytes.Buffer
	w, err := NewWriter(&out, c.plan(), c.options())
	if err := c.write(w, err); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// plan returns the plan of the model.
func (c *Config) plan() *format.Plan {
	p := &format.Plan{Metadata: format.Metadata{{Key: keyName, Value: c.Name}}}
	for i := range c.Constants {
		t := &c.Constants[i]
		p.Tensors = append(p.Tensors, tensor.Info{Name: constantName(t.ID), DType: t.DType, Shape: t.Shape, Quant: t.Quant})
	}
	return p
}

func (c *Config) options() *WriteOptions {
	return &WriteOptions{
		WriteOptions: format.WriteOptions{Time: c.Time, Spool: format.SpoolMemory},
		Gzip:         c.Gzip, Footer: c.Footer, Flags: c.Flags, FrameworkVersion: c.FrameworkVersion,
		Inputs: c.Inputs, Outputs: c.Outputs, Operators: c.Operators,
	}
}

// write writes the constants to w and closes it.
func (c *Config) write(w *format.Writer, err error) error {
	if err != nil {
		return err
	}
	defer w.Abort()
	for i := range c.Constants {
		t := &c.Constants[i]
		if err := w.WriteTensor(constantName(t.ID), bytes.NewReader(t.Data)); err != nil {
			return err
		}
	}
	return w.Close()
}

// Constant is a tensor in memory for a Config.
type Constant struct {
	ID    uint32
	DType tensor.DType
	Shape tensor.Shape
	Data  []byte // little-endian, row-major; its length follows from shape and dtype
	Quant *tensor.Quantization
}

// NewTensor copies v, which may come from any format, into a Constant. It fails
// with ErrUnsupported if MOBI does not have the dtype.
func NewTensor(id uint32, v tensor.View) (Constant, error) {
	info := v.Info()
	if err := checkDType(info.DType, info.DType.String()); err != nil {
		return Constant{}, constantError(id, err)
	}
	data := make([]byte, info.Size)
	_, err := v.ReadInto(data)
	return Constant{ID: id, DType: info.DType, Shape: info.Shape.Clone(), Data: data, Quant: info.Quant}, err
}

// NewTensorBytes returns a Constant that refers to data, without a copy. It fails
// with ErrShape if shape and dtype require another size, and with ErrUnsupported
// if MOBI does not have the dtype.
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

// ToTensor returns a view of a copy of the constant. Its name is the id in decimal.
func (c *Constant) ToTensor() (tensor.View, error) {
	data := memory.Aligned(len(c.Data))
	copy(data, c.Data)
	v, err := tensor.FromBytes(constantName(c.ID), c.DType, c.Shape, data)
	if err != nil {
		return tensor.View{}, constantError(c.ID, err)
	}
	info := v.Info()
	info.Quant = c.Quant.Clone()
	ref := memory.Ref[tensor.Info](v)
	return tensor.View(memory.New(&info, ref.Owner(), data)), nil
}

func constantError(id uint32, err error) error {
	return wire.Error(name, "constant "+constantName(id), -1, err)
}
