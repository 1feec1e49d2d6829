package driver

import "github.com/weightmap/weightmap/format/schema"

// Splitter is a Writer that can spread a model over several files. It does not touch the disk.
type Splitter interface {
	Writer
	// Places returns the paths of a model that is written to path.
	Places(path string) Places
	// Split completes the metadata of the parts of a schema, of which there are several.
	Split(parts []*schema.Schema)
	// Index returns the content of the file that opens a model with these parts and their names. It
	// is not called if Places.Index is "".
	Index(parts []*schema.Schema, names []string) ([]byte, error)
	// Listed returns the names that an index lists.
	Listed(index []byte) ([]string, error)
}

// Places are paths of a model.
type Places struct {
	// File is the path of the model in one file, "" if path can only be that of a part.
	File string
	// Index is the path of the file that lists the parts and opens the model. It is "" if the first
	// part opens it.
	Index string
	// Stem is what the paths of the parts begin with.
	Stem string
}

// PartsParser is a Driver that can read the parts of a model that no index lists.
type PartsParser interface {
	Driver
	// ParseParts is Parse for all these files of a directory.
	ParseParts(d Dir, names []string, x *Index, o *ParseOptions) (*Parsed, error)
}

// FolderParser is a Driver that can read a directory into which an archive of its format was
// unpacked.
type FolderParser interface {
	Driver
	// ParseFolder is Parse for such a directory.
	ParseFolder(d Dir, x *Index, o *ParseOptions) (*Parsed, error)
}
