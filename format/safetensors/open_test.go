package safetensors

import (
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
)

// The functions of package format, for files of this format.

func openBytes(b []byte, o *format.Options) (*format.Model, error) {
	return format.OpenBytes(b, o.With(Format{}))
}

func newWriter(w io.Writer, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
	return format.NewWriter(w, p, o.With(Format{}))
}
