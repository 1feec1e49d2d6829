package contract

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
)

// Splitter is a driver.Layouter that can spread a model over several files.
type Splitter interface {
	driver.Layouter
	// Shards returns the files for the parts of a plan for a model at path, and completes the
	// metadata of the parts. A single part becomes an ordinary file.
	Shards(path string, parts []*plan.Plan) (*Files, error)
}

// Files are the files of a model.
type Files struct {
	// Paths are the paths of the parts.
	Paths []string
	// Index is the path of a file that lists the parts and opens the model, and Text is its
	// content. Index is "" if the first part opens the model.
	Index string
	Text  []byte
	// Old are the files of the model that this one replaces. They are removed
	// when the new model is in place.
	Old []string
}
