package mobi

import "github.com/weightmap/weightmap/format"

// WriteOptions are the options for writing a MOBI file. Nil and the zero value work.
type WriteOptions struct {
	format.WriteOptions
	// Gzip is the level, from 1 (fast) to 9 (small), at which constants are
	// compressed. Constants that do not become smaller are stored uncompressed.
	// 0 compresses nothing.
	Gzip int
	// Footer is the kind of checksum at the end of the file.
	Footer Footer
	// Flags are set in the header in addition to those that follow from the
	// constants (FlagQuantized, FlagFloat16). Flags in the schema's metadata replace
	// all of them.
	Flags Flags
	// FrameworkVersion is written if the schema's metadata has none.
	FrameworkVersion uint32
	// Inputs, Outputs and Operators replace the schema's neutral graph. A schema
	// with a graph is then refused.
	Inputs, Outputs []Spec
	Operators       []Operator
}

// common returns the options that all formats have.
func (o *WriteOptions) common() *format.WriteOptions { return &o.WriteOptions }
