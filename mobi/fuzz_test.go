package mobi

import (
	"testing"

	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/internal/corpus"
)

// FuzzFile opens, verifies and decodes its input.
func FuzzFile(f *testing.F) {
	corpus.Seed(f)
	f.Add(packed())
	formattest.Fuzz(f, formattest.Config{Codec: codec, ReadsAll: true})
}
