package onnx

import (
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
)

// The functions of package format, for files of this format.

func openBytes(b []byte, o *format.Options) (*File, error) {
	return opened(format.OpenBytes(b, o.With(Format{})))
}

func openReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return opened(format.OpenReaderAt(r, size, o.With(Format{})))
}

func streamTo(w io.Writer, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
	return format.NewWriter(w, p, o.With(Format{}))
}

// opened returns a model that was opened as a File.
func opened(m *format.Model, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	f, _ := From(m)
	return f, nil
}
