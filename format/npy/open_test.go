package npy

import (
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
)

// The functions of package format, for files of this format.

func openBytes(b []byte, o *format.Options) (*format.Model, error) {
	return open(func(c format.Codec) (*format.Model, error) { return c.OpenBytes(b, o) })
}

func openReaderAt(r io.ReaderAt, size int64, o *format.Options) (*format.Model, error) {
	return open(func(c format.Codec) (*format.Model, error) { return c.OpenReaderAt(r, size, o) })
}

func newWriter(w io.Writer, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
	return fileCodec.NewWriter(w, p, o)
}

func newArchiveWriter(w io.Writer, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
	return archiveCodec.NewWriter(w, p, o)
}
