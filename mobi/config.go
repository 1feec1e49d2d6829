package mobi

import (
	"bytes"
	"io"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Config is a whole model in memory, to be written at once. (Larger models
// stream through Create.)
type Config struct {
	Name             string
	FrameworkVersion uint32
	Time             time.Time // of creation; zero means none
	Inputs           []Spec
	Outputs          []Spec
	Constants        []Constant // ids are unique
	Operators        []Operator
	Flags            Flags // in addition to those that the constants call for

	Gzip   int    // as in WriteOptions
	Footer Footer // likewise
}

// Save writes the model to path, in place of what is there.
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

// Bytes returns the file.
func (c *Config) Bytes() ([]byte, error) {
	var out bytes.Buffer
	w, err := NewWriter(&out, c.plan(), c.options())
	if err := c.write(w, err); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// plan describes the model to the writer.
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

// write feeds the constants to w.
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
