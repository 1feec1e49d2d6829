package tsr

import (
	"testing"

	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/internal/corpus"
)

// FuzzOpen opens, verifies and decodes its input.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	formattest.Fuzz(f, formattest.Config{Codec: codec})
}
