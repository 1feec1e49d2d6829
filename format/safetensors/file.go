package safetensors

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
)

// Open maps the file at path and reads its header. Given the index of a sharded model
// (model.safetensors.index.json), it opens all shards. A nil *format.Options is the zero value.
//
// The format has no checksums. Verify detects headers that changed since they were parsed, and
// reads all data to detect truncation. The metadata is __metadata__; for a sharded model, it
// combines the metadata of the index and of all shards.
func Open(path string, o *format.Options) (*format.Model, error) { return codec.Open(path, o) }

// OpenBytes opens a file in memory. b must not change while the model is open. If b is an index,
// its shards are in Options.Dir.
func OpenBytes(b []byte, o *format.Options) (*format.Model, error) { return codec.OpenBytes(b, o) }

// OpenReaderAt opens a file of size bytes behind r. It reads the first 262 bytes and the header at
// once, and tensors on demand.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*format.Model, error) {
	return codec.OpenReaderAt(r, size, o)
}

// OpenFile maps size bytes at offset off of an open file; size -1 means up to the end.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*format.Model, error) {
	return codec.OpenFile(f, off, size, o)
}
