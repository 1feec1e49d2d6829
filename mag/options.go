package mag

import "github.com/weightmap/weightmap/format/driver"

// Format is MAG, with the options for writing that only it has. The zero value writes version 1 as
// the reference implementation does, with a digest for every tensor. With
// format.WriteOptions.Extended, version 1 may have dtypes that the reference does not have: all but
// float32, float16, bool and int32.
type Format struct {
	// Snapshot selects the snapshot container instead of version 1. It has no
	// metadata and therefore no digests.
	Snapshot bool
	// Checksum is the form of the header checksum of version 1.
	Checksum Checksum
	// NoDigests omits the metadata entries with the XXH64 of the data. A version 1
	// file can then be streamed.
	NoDigests bool
}

// Driver implements format.Format.
func (f Format) Driver() driver.Driver { return fileFormat(f) }
