package tsr

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// Format is TSR. It has no options that other formats lack. A writer makes a directory with a file
// "<name>.tsr" for each tensor if the path ends in a separator or is a directory already, or if the
// schema has several tensors. Otherwise it makes one file, which does not store the name of its
// tensor: readers name the tensor after the file. The directory appears when the writer is closed.
// Its parent must exist, and an old directory at the path must be empty. See the package
// documentation for the names of files.
type Format struct{}

// Driver implements format.Format.
func (Format) Driver() driver.Driver { return fileFormat{} }

// fileFormat is the driver.
type fileFormat struct{}

func init() { format.Register(Format{}) }

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions, Stores: driver.Aligns64}
}

var extensions = []string{extension}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }
