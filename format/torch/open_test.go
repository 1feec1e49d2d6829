package torch

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
)

// The functions of package format, for files of this format.

func openBytes(b []byte, o *format.Options) (*format.Model, error) {
	return format.OpenBytes(b, o.With(Format{}))
}

func openReaderAt(r io.ReaderAt, size int64, o *format.Options) (*format.Model, error) {
	return format.OpenReaderAt(r, size, o.With(Format{}))
}

func openFile(f *os.File, off, size int64, o *format.Options) (*format.Model, error) {
	return format.OpenFile(f, off, size, o.With(Format{}))
}
