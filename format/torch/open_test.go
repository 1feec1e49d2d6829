package torch

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
)

// The functions of package format, for files of this format.

func openBytes(b []byte, o *format.Options) (*format.Model, error) { return own.OpenBytes(b, o) }

func openReaderAt(r io.ReaderAt, size int64, o *format.Options) (*format.Model, error) {
	return own.OpenReaderAt(r, size, o)
}

func openFile(f *os.File, off, size int64, o *format.Options) (*format.Model, error) {
	return own.OpenFile(f, off, size, o)
}
