package mag

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// fileFormat is the driver.
type fileFormat Format

func init() { format.Register(Format{}) }

var extensions = []string{".mag"}

// Describe implements driver.Driver.
func (d fileFormat) Describe() driver.Description {
	stores := driver.Extends
	if !d.Snapshot {
		stores |= driver.Aligns64
	}
	return driver.Description{Name: formatName, Extensions: extensions, Stores: stores}
}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }
