package torch

import "github.com/weightmap/weightmap/internal/corpus"

// The functions of package format, for files of this format.
var (
	openBytes    = corpus.OpenBytes(Format{}, corpus.Model)
	openReaderAt = corpus.OpenReaderAt(Format{}, corpus.Model)
	openFile     = corpus.OpenFile(Format{}, corpus.Model)
)
