package wia

import (
	"cmp"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
)

// The functions of package format, for files of this format.

func openBytes(b []byte, o *format.Options) (*File, error) { return opened(wiaCodec.OpenBytes(b, o)) }

func newWriter(w io.Writer, p *schema.Schema, o *WriteOptions) (*format.Writer, error) {
	o = cmp.Or(o, &WriteOptions{})
	return format.With(fileFormat{*o}).NewWriter(w, p, &o.WriteOptions)
}

// opened returns a model that was opened as a File.
func opened(m *format.Model, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	f, _ := From(m)
	return f, nil
}
