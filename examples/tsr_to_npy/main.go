// Command tsr_to_npy converts a TSR file to NumPy's .npy:
//
//	tsr_to_npy data.tsr data.npy
//
// The result is format version 1.0, C order, little-endian: '<f4' for FP32,
// '|i1' for INT8, '<i4' for INT32. The data is copied once, from the mapping of
// the one file into the other. An existing file is replaced when the new one is complete.
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
	Name: "tsr_to_npy", Args: "IN.tsr OUT.npy",
	About:   "Convert a TSR file to NumPy's .npy. An existing OUT.npy is replaced when all is written.",
	Example: "tsr_to_npy data.tsr data.npy",
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return export.Run(ctx, &tool, args, stdout, stderr, npyHeader)
}
