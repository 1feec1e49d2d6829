package format

import (
	"io"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/tensor"
)

// Create starts writing a model to path. The data goes to a temporary file in the same directory, which Close
// renames to path. If format is "", the extension of path chooses it.
func Create(format, path string, p *schema.Schema, o *WriteOptions) (*Writer, error) {
	c, err := For(format, path)
	if err != nil {
		return nil, err
	}
	return c.Create(path, p, o)
}

// NewWriter starts writing a model to w. A format whose header depends on the data, or tensors out of order, need the
// file to be assembled first, where WriteOptions.Spool says; nothing is then written to w before Close.
func NewWriter(format string, w io.Writer, p *schema.Schema, o *WriteOptions) (*Writer, error) {
	c, err := Lookup(format)
	if err != nil {
		return nil, err
	}
	return c.NewWriter(w, p, o)
}

// Save writes tensors to path, with their names and quantization: views from tensor.Of, or of open models. The file
// appears whole or not at all, as with Create. If format is "", the extension of path chooses it.
func Save(path, format string, views ...tensor.View) error {
	p := &schema.Schema{}
	for _, v := range views {
		if _, err := v.ReadAt(nil, 0); err != nil { // one that came with an error, or is closed
			return err
		}
		p.Tensors = append(p.Tensors, v.Info())
	}
	w, err := Create(format, path, p, nil)
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, v := range views {
		err := w.WriteView(v)
		if err != nil {
			return err
		}
	}
	return w.Close()
}

// WriteView writes the tensor v under its own name. If the file of v is cut short meanwhile, the error is
// ErrTruncated. If the schema has another dtype or other quantization for it, ErrSchema. The schema's shape is written.
func (w *Writer) WriteView(v tensor.View) error {
	info := v.Info()
	return target.ReadView(v, func(r io.Reader) error {
		return w.write(info.Name, r, func(to *tensor.Info) error { return sameType(to, &info) })
	})
}

// WriteModel writes all tensors of m. It does not close w.
//
// If the schema of w is that of Model.Schema, the copy has the same tensors, quantization, metadata and graph. Compression,
// encryption, signature, external files and checksums follow the options of w, not the source. The
// caller may change the schema before it creates w; a tensor with another dtype or other quantization than in m
// is ErrSchema.
func (w *Writer) WriteModel(m *Model) error {
	for i := range m.Len() {
		err := w.WriteView(m.At(i))
		if err != nil {
			return err
		}
	}
	return nil
}
