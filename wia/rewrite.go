package wia

import (
	"io"

	"github.com/weightmap/weightmap/format"
)

// Rewrite writes f to path with other options: another compression, a key, a signature,
// external data. Everything the file says is kept, unknown fields and the text of the metadata
// included; only checksums and signature are made anew. Tensors that initializers of the graph
// carry move to the tensor block. o.Metadata, o.Graph and o.Describe take the place of what the
// file has. External data becomes part of the file unless o.ExternalFrom says otherwise. A
// nil o writes everything plainly, unsigned and not encrypted.
func Rewrite(path string, f *File, o *WriteOptions) error {
	o = o.orDefault()
	c, p, err := f.plan(o)
	if err != nil {
		return err
	}
	w, err := c.Create(path, p, &o.WriteOptions)
	return f.copyTo(w, err)
}

// RewriteTo is Rewrite to w.
func RewriteTo(w io.Writer, f *File, o *WriteOptions) error {
	o = o.orDefault()
	c, p, err := f.plan(o)
	if err != nil {
		return err
	}
	to, err := c.NewWriter(w, p, &o.WriteOptions)
	return f.copyTo(to, err)
}

// plan returns the plan of a file, and the codec that writes its metadata as they are.
func (f *File) plan(o *WriteOptions) (c format.Codec, p *format.Plan, err error) {
	d := fileFormat{opts: *o}
	if p, err = format.PlanOf(f.Model); err != nil {
		return c, nil, err
	}
	if p.Metadata = o.Metadata; o.Metadata == nil {
		err = f.Do(func() error {
			if d.metadata = f.f.meta.Win; len(d.metadata) == 0 {
				d.metadata = []byte("{}")
			}
			return nil
		})
	}
	return format.With(d), p, err
}

func (f *File) copyTo(w *format.Writer, err error) error {
	if err != nil {
		return err
	}
	return format.Copy(w, f.Model)
}
