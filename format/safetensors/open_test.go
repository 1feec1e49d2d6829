package safetensors

import (
	"io"

	"github.com/weightmap/weightmap/format"
)

// The functions of package format, for files of this format.

func openBytes(b []byte, o *format.Options) (*format.Model, error) { return codec.OpenBytes(b, o) }

func newWriter(w io.Writer, p *format.Plan, o *format.WriteOptions) (*format.Writer, error) {
	return codec.NewWriter(w, p, o)
}
