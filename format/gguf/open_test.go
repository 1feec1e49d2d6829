package gguf

import (
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
)

// The functions of package format, for files of this format.

func openBytes(b []byte, o *format.Options) (*File, error) { return file(codec.OpenBytes(b, o)) }

func newWriter(w io.Writer, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
	return codec.NewWriter(w, p, o)
}
