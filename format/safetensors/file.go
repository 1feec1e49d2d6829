package safetensors

import (
	"github.com/weightmap/weightmap/format"
)

// Open maps the file at path and reads its header. Given the index of a sharded model
// (model.safetensors.index.json), it opens all shards. A nil *format.Options is the zero value.
//
// The format has no checksums. Verify detects headers that changed since they were parsed, and
// reads all data to detect truncation. The metadata is __metadata__; for a sharded model, it
// combines the metadata of the index and of all shards.
func Open(path string, o *format.Options) (*format.Model, error) { return codec.Open(path, o) }
