package mag

import "github.com/weightmap/weightmap/format"

// WriteOptions changes how a file is written. Nil and the zero value write
// version 1 as the reference implementation does, with a digest for every tensor.
type WriteOptions struct {
	format.WriteOptions
	// Snapshot chooses the snapshot container instead of version 1. It holds
	// no metadata, so no digests.
	Snapshot bool
	// Extended allows version 1 files with dtypes that the reference does
	// not know: any but float32, float16, bool and int32.
	Extended bool
	// Checksum is the form of version 1's header checksum.
	Checksum Checksum
	// NoDigests leaves out the metadata entries with the XXH64 of the data. Version 1
	// can be written from front to back then.
	NoDigests bool
}

func (o *WriteOptions) orDefault() *WriteOptions {
	if o == nil {
		return &WriteOptions{}
	}
	return o
}
