package safetensors

import "github.com/weightmap/weightmap/internal/corpus"

// The functions of package format, for files of this format.
var (
	openBytes = corpus.OpenBytes(Format{}, corpus.Model)
	newWriter = corpus.NewWriter(Format{})
)
