package npy

import (
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
)

// The functions of package format, for files of this format.

func openBytes(b []byte, o *format.Options) (*format.Model, error) {
	return openEither(o, func(o *format.Options) (*format.Model, error) { return format.OpenBytes(b, o) })
}

func openReaderAt(r io.ReaderAt, size int64, o *format.Options) (*format.Model, error) {
	return openEither(o, func(o *format.Options) (*format.Model, error) { return format.OpenReaderAt(r, size, o) })
}

func newWriter(w io.Writer, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
	return format.NewWriter(w, p, o.With(Format{}))
}

func newArchiveWriter(w io.Writer, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
	return format.NewWriter(w, p, o.With(Archive{}))
}
