package safetensors

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
)

// Open maps the file at path and reads its header. The index of a sharded model
// (model.safetensors.index.json) opens it with all its shards. Nil options work.
//
// The format has no checksums and no signatures: Verify finds headers that changed since
// they were read, and touches all data, so that a file that was cut short does not pass.
// Metadata is what __metadata__ says; of a sharded model, what the index and all shards say.
func Open(path string, o *format.Options) (*format.Model, error) { return codec.Open(path, o) }

// OpenBytes reads a file from memory, which must not change while it is open. The shards
// of an index are looked for in Options.Dir.
func OpenBytes(b []byte, o *format.Options) (*format.Model, error) { return codec.OpenBytes(b, o) }

// OpenReaderAt reads a file of size bytes through r, fetching tensors on demand. The
// first 262 bytes are read, then the header.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*format.Model, error) {
	return codec.OpenReaderAt(r, size, o)
}

// OpenFile maps size bytes at off of an open file; size -1 means to the end.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*format.Model, error) {
	return codec.OpenFile(f, off, size, o)
}
