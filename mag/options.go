package mag

import "github.com/weightmap/weightmap/format"

// WriteOptions changes how a file is written. Nil and the zero value write
// version 1 as the reference implementation does, with a digest for every tensor.
type WriteOptions struct {
	format.WriteOptions
	// Snapshot selects the snapshot container instead of version 1. It has no
	// metadata and therefore no digests.
	Snapshot bool
	// Extended allows dtypes that the reference does not have in version 1 files:
	// all but float32, float16, bool and int32.
	Extended bool
	// Checksum is the form of the header checksum of version 1.
	Checksum Checksum
	// NoDigests omits the metadata entries with the XXH64 of the data. A version 1
	// file can then be streamed.
	NoDigests bool
}

// common returns the options that all formats have.
func (o *WriteOptions) common() *format.WriteOptions { return &o.WriteOptions }
