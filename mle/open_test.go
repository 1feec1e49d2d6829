package mle

import "github.com/weightmap/weightmap/internal/corpus"

// The functions of package format, for files of this format.
var (
	openBytes    = corpus.OpenBytes(Format{}, From)
	openReaderAt = corpus.OpenReaderAt(Format{}, From)
	newWriter    = corpus.NewWriter(Format{})
)
