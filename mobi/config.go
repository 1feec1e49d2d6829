package mobi

import (
	"bytes"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Config is a complete model in memory, written in one call. Use Create to stream
// larger models.
type Config struct {
	Name      string
	Constants []Constant // ids are unique
	WriteOptions
}

// Save writes the model to path and replaces an existing file.
func (c *Config) Save(path string) error {
	w, err := Create(path, c.plan(), &c.WriteOptions)
	return c.write(w, err)
}

// Bytes returns the model as a file in memory.
func (c *Config) Bytes() ([]byte, error) {
	o := c.WriteOptions
	o.Spool = format.SpoolMemory
	var out bytes.Buffer
	w, err := format.With(fileFormat{o}).NewWriter(&out, c.plan(), &o.WriteOptions)
	if err := c.write(w, err); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// plan returns the plan of the model.
func (c *Config) plan() *format.Plan {
	p := &format.Plan{Metadata: format.Metadata{{Key: keyName, Value: c.Name}}}
	for i := range c.Constants {
		info := c.Constants[i].Tensor.Info()
		info.Name = constantName(c.Constants[i].ID)
		p.Tensors = append(p.Tensors, info)
	}
	return p
}

// write writes the constants to w and closes it.
func (c *Config) write(w *format.Writer, err error) error {
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, t := range c.Constants {
		data := io.NewSectionReader(t.Tensor, 0, t.Tensor.Info().Size)
		if err := w.WriteTensor(constantName(t.ID), data); err != nil {
			return err
		}
	}
	return w.Close()
}

// Constant is a tensor for a Config, with any name: a view of a file of any format, or of memory (tensor.Of,
// tensor.FromBytes, tensor.FromInfo). It is read when the Config is written.
type Constant struct {
	ID     uint32
	Tensor tensor.View
}
