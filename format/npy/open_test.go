package npy

import (
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
)

// The functions of package format, for files of this format.

func openBytes(b []byte, o *format.Options) (*format.Model, error) {
	return openEither(o, func(o *format.Options) (*format.Model, error) { return format.OpenBytes(b, o) })
}

func openReaderAt(r io.ReaderAt, size int64, o *format.Options) (*format.Model, error) {
	return openEither(o, func(o *format.Options) (*format.Model, error) {
		return format.OpenReaderAt(r, size, o)
	})
}

var (
	newWriter        = corpus.NewWriter(Format{})
	newArchiveWriter = corpus.NewWriter(Archive{})
)
