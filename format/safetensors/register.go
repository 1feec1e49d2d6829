package safetensors

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// fileFormat is the driver.
type fileFormat struct{}

var codec = format.With(fileFormat{})

func init() {
	format.Register(fileFormat{})
	format.FindInDirectories()
}

var extensions = []string{extension}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions}
}

// Detect implements driver.Driver. There is no magic number: a file begins with a length and a JSON
// object, an index with a JSON object that has a weight map.
func (fileFormat) Detect(head []byte, _ int64) bool {
	if isIndex(head) {
		first := bytes.TrimLeft(bytes.TrimLeft(head, blanks)[1:], blanks)
		return bytes.HasPrefix(first, []byte(`"metadata"`)) || bytes.Contains(head, []byte(`"weight_map"`))
	}
	return len(head) > lengthSize && beginsObject(head[lengthSize:])
}
