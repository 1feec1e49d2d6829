package tsr

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
)

// The functions of package format, for files of this format.
var (
	openFile  = corpus.OpenFile(Format{}, From)
	newWriter = corpus.NewWriter(Format{})
)

func create(path string, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
	return format.Create(path, p, o.With(Format{}))
}
