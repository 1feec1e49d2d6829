package wia

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// fileFormat is the driver.
type fileFormat Format

func init() {
	format.Register(Format{})
}

var extensions = []string{".wia"}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{
		Name:       formatName,
		Extensions: extensions,
		TakeValue:  jsonmeta.Value,
		Stores: driver.Compresses | driver.Signs | driver.Encrypts | driver.MovesData |
			driver.Aligns64,
	}
}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool {
	return bytes.HasPrefix(head, []byte(magic)) || bytes.HasPrefix(head, []byte(magicASCII))
}

// Operators implements driver.Vocabulary: the operators are those of ONNX.
func (fileFormat) Operators() []driver.Operator { return nil }
