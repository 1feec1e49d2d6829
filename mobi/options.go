package mobi

import "github.com/weightmap/weightmap/format"

// WriteOptions changes how a MOBI file is written. Nil and the zero value work.
type WriteOptions struct {
	format.WriteOptions
	// Gzip compresses every constant at that level, 1 (fast) to 9 (small), and
	// keeps those compressed that become smaller by it. 0 compresses nothing.
	Gzip int
	// Footer says which checksum the file ends with.
	Footer Footer
	// Flags are set in the header in addition to those that the constants call for
	// (FlagQuantized, FlagFloat16). Flags in the plan's metadata are written as they are.
	Flags Flags
	// FrameworkVersion is recorded when the plan's metadata has none.
	FrameworkVersion uint32
	// Inputs, Outputs and Operators replace the plan's neutral graph. A plan
	// with a graph is then refused.
	Inputs, Outputs []Spec
	Operators       []Operator
}

func (o *WriteOptions) orDefault() *WriteOptions {
	if o == nil {
		return &WriteOptions{}
	}
	return o
}
