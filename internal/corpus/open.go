package corpus

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
)

// Own makes a model the File of its format. It is the function From of the format, or Model.
type Own[F any] func(m *format.Model) (F, bool)

// Model is the Own of formats without a File.
func Model(m *format.Model) (*format.Model, bool) { return m, true }

// OpenBytes returns the function that opens files of a format in memory, for its tests.
func OpenBytes[F any](f format.Format,
	from Own[F]) func(b []byte, o *format.Options) (F, error) {
	return func(b []byte, o *format.Options) (F, error) {
		m, err := format.OpenBytes(b, o.With(f))
		return from.opened(m, err)
	}
}

// OpenReaderAt is like OpenBytes, for files that are read.
func OpenReaderAt[F any](f format.Format,
	from Own[F]) func(r io.ReaderAt, size int64, o *format.Options) (F, error) {
	return func(r io.ReaderAt, size int64, o *format.Options) (F, error) {
		m, err := format.OpenReaderAt(r, size, o.With(f))
		return from.opened(m, err)
	}
}

// OpenFile is like OpenBytes, for a range of an open file.
func OpenFile[F any](f format.Format,
	from Own[F]) func(file *os.File, off, size int64, o *format.Options) (F, error) {
	return func(file *os.File, off, size int64, o *format.Options) (F, error) {
		m, err := format.OpenFile(file, off, size, o.With(f))
		return from.opened(m, err)
	}
}

func (from Own[F]) opened(m *format.Model, err error) (F, error) {
	if err != nil {
		var none F
		return none, err
	}
	f, _ := from(m)
	return f, nil
}

// NewWriter returns the function that starts a file of a format, unless the options have one.
func NewWriter(f format.Format) func(w io.Writer, p *schema.Schema,
	o *format.WriteOptions) (*format.Writer, error) {
	return func(w io.Writer, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
		if o == nil || o.Format == nil {
			o = o.With(f)
		}
		return format.NewWriter(w, p, o)
	}
}
