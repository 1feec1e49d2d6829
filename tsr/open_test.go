package tsr

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
)

// The functions of package format, for files of this format.

func openFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return opened(format.OpenFile(f, off, size, o.With(Format{})))
}

func create(path string, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
	return format.Create(path, p, o.With(Format{}))
}

func newWriter(w io.Writer, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
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
