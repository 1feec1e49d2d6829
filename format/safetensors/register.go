package safetensors

import (
	"bytes"
	_ "crypto/sha1" // for Verify of files that caches name by their digests
	_ "crypto/sha256"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// Format is safetensors. It has no options that other formats lack.
type Format struct{}

// Driver implements format.Format.
func (Format) Driver() driver.Driver { return fileFormat{} }

// fileFormat is the driver.
type fileFormat struct{}

// Open maps the file at path and reads its header. Given the index of a sharded model
// (model.safetensors.index.json), it opens all shards. A nil *format.Options is the zero value.
//
// The format has no checksums. Verify detects headers that changed since they were parsed, and
// reads all data to detect truncation. The metadata is __metadata__; for a sharded model, it
// combines the metadata of the index and of all shards.
func Open(path string, o *format.Options) (*format.Model, error) {
	return format.Open(path, o.With(Format{}))
}

func init() {
	format.Register(Format{})
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
