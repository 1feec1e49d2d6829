package mobi

import "github.com/weightmap/weightmap/format/driver"

// Format is MOBI, with the options for writing that only it has; the zero value works. With the
// Compression "gzip" of format.WriteOptions, constants that become smaller are compressed.
//
// Tensor names must be ids in decimal. If AcceptLoss has "name", other names are
// replaced by the lowest free ids, in the order of the schema, in tensors and graph.
// In the file, constants are sorted by the alignment of their data (see the package
// documentation); the caller may write them in any order. To a stream ([format.NewWriter]), those
// that arrive early are buffered (see Spool) or, with SpoolNever, refused. A file with compressed
// constants is always buffered.
type Format struct {
	// Footer is the kind of checksum at the end of the file.
	Footer Footer
	// Flags are set in the header in addition to those that follow from the
	// constants (FlagQuantized, FlagFloat16). Flags in the schema's metadata replace
	// all of them.
	Flags Flags
	// FrameworkVersion is written if the schema's metadata has none.
	FrameworkVersion uint32
}

// Driver implements format.Format.
func (f Format) Driver() driver.Driver { return fileFormat(f) }
