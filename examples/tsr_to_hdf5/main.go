// Command tsr_to_hdf5 converts a TSR file to HDF5:
//
//	tsr_to_hdf5 data.tsr data.h5
//
// The result has one dataset in the root group, named after the tensor (the file
// name without ".tsr"), of the same shape, with contiguous little-endian data:
// IEEE float32 for FP32, signed integers for INT8 and INT32. A scalar becomes a
// scalar dataset, a shape with a 0 an empty one. HDF5 1.8 and later read it.
// The data is copied once, from the mapping of the one file into the other. An
// existing file is replaced when the new one is complete.
// Exit status: 0 for success, 1 for an error in a file, 2 for wrong usage.
package main

import (
	"context"
	"io"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/export"
)

func main() { cli.Main(run) }

var tool = cli.Tool{
	Name: "tsr_to_hdf5", Args: "IN.tsr OUT.h5",
	About:   "Convert a TSR file to HDF5. An existing OUT.h5 is replaced when all is written.",
	Example: "tsr_to_hdf5 data.tsr data.h5",
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return export.Run(ctx, &tool, args, stdout, stderr, hdf5Header)
}
