package npy

import (
	"testing"

	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/internal/corpus"
)

// FuzzOpen opens, verifies and decodes any input as an archive.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	f.Add(mixed())
	formattest.Fuzz(f, formattest.Config{Codec: archiveCodec})
}

// FuzzFile is FuzzOpen for a lone array.
func FuzzFile(f *testing.F) {
	corpus.Seed(f)
	formattest.Fuzz(f, formattest.Config{Codec: fileCodec})
}
