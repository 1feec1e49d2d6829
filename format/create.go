package format

import (
	"context"
	"io"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/tensor"
)

// Create starts writing a model to path. The data goes to a temporary file in the same directory,
// which Close renames to path. The format is that of the options or, without one, that of the
// extension of path.
func Create(path string, s *schema.Schema, o *WriteOptions) (*Writer, error) {
	f, err := formatFor(path, o)
	if err != nil {
		return nil, err
	}
	return newWriter(f, path, nil, s, o)
}

// NewWriter starts writing a model to w, in the format of the options. A format whose header
// depends on the data, or tensors out of order, need the file to be assembled first, where
// WriteOptions.Spool says; nothing is then written to w before Close.
func NewWriter(w io.Writer, s *schema.Schema, o *WriteOptions) (*Writer, error) {
	f, err := formatFor("", o)
	if err != nil {
		return nil, err
	}
	return newWriter(f, "", w, s, o)
}

// Save writes a model with these tensors to path: views from tensor.Of, or of open models. The file
// appears whole or not at all, as with Create. The schema may have metadata and a graph. If it has
// no tensors, or is nil, the views say which there are; otherwise it lists those of all views. ctx
// takes the place of WriteOptions.Context.
func Save(ctx context.Context, path string, s *schema.Schema, views []tensor.View, o *WriteOptions) error {
	s, err := schemaOf(s, views)
	if err != nil {
		return err
	}
	w, err := Create(path, s, o.with(ctx))
	if err != nil {
		return err
	}
	return w.save(views)
}

// Write is Save for an io.Writer; see NewWriter.
func Write(ctx context.Context, w io.Writer, s *schema.Schema, views []tensor.View, o *WriteOptions) error {
	s, err := schemaOf(s, views)
	if err != nil {
		return err
	}
	x, err := NewWriter(w, s, o.with(ctx))
	if err != nil {
		return err
	}
	return x.save(views)
}

// with returns a copy of the options with another context. It works on nil.
func (o *WriteOptions) with(ctx context.Context) *WriteOptions {
	c := WriteOptions{}
	if o != nil {
		c = *o
	}
	c.Context = ctx
	return &c
}

// schemaOf returns s with the tensors of the views, unless it has tensors.
func schemaOf(s *schema.Schema, views []tensor.View) (*schema.Schema, error) {
	for _, v := range views {
		_, err := v.ReadAt(nil, 0) // of a view that came with an error, or is closed
		if err != nil {
			return nil, err
		}
	}
	if s != nil && len(s.Tensors) > 0 {
		return s, nil
	}
	c := schema.Schema{}
	if s != nil {
		c = *s
	}
	for _, v := range views {
		c.Tensors = append(c.Tensors, v.Info())
	}
	return &c, nil
}

// save writes the views and closes w.
func (w *Writer) save(views []tensor.View) error {
	defer w.Abort()
	for _, v := range views {
		err := w.WriteView(v)
		if err != nil {
			return err
		}
	}
	return w.Close()
}

// WriteView writes the tensor v under its own name. If the file of v is cut short meanwhile, the
// error is ErrTruncated. If the schema has another dtype or other quantization for it, ErrSchema.
// The schema's shape is written.
func (w *Writer) WriteView(v tensor.View) error {
	info := v.Info()
	return target.ReadView(v, func(r io.Reader) error {
		return w.write(info.Name, r, func(to *tensor.Info) error { return sameType(to, &info) })
	})
}

// WriteModel writes all tensors of m. It does not close w.
//
// If the schema of w is that of Model.Schema, the copy has the same tensors, quantization, metadata
// and graph. Compression, encryption, signature, external files and checksums follow the options of
// w, not the source. The caller may change the schema before it creates w; a tensor with another
// dtype or other quantization than in m is ErrSchema.
func (w *Writer) WriteModel(m *Model) error {
	for i := range m.Len() {
		err := w.WriteView(m.At(i))
		if err != nil {
			return err
		}
	}
	return nil
}
