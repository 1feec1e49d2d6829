// Package export has code shared by the programs that convert a TSR file to a format with a header
// followed by little-endian data: the command line and the copying of the mapped tensor.
package export

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
)

// Header returns the bytes before the data of a tensor.
type Header func(tensor.Info) ([]byte, error)

// Run runs the program t: it converts args[0] to args[1] and returns the exit status: 0 for
// success, 1 for an error in a file, 2 for wrong usage. Errors are one line on stderr.
func Run(ctx context.Context, t *cli.Tool, args []string, stdout, stderr io.Writer, h Header) int {
	return t.Status(convert(ctx, t, args, stdout, h), stderr)
}

func convert(ctx context.Context, t *cli.Tool, args []string, stdout io.Writer, h Header) error {
	f := t.Flags()
	if err := t.Parse(f, args, stdout); err != nil {
		return err
	}
	if f.NArg() != 2 {
		return t.Usagef("%s given, not 2", cli.Count(f.NArg(), "argument"))
	}
	if err := cli.CheckTarget(f.Arg(1)); err != nil {
		return err
	}
	return File(ctx, f.Arg(0), f.Arg(1), h)
}

// File converts the TSR file in. It writes the mapped data to a temporary file, which replaces out
// at the end. After an error, out is unchanged.
func File(ctx context.Context, in, out string, h Header) error {
	if st, err := os.Stat(in); err == nil && st.IsDir() {
		return fmt.Errorf("%s is a directory, not a TSR file", in)
	}
	// CheckAll reads all data, so that a damaged file fails here, with a better message than that
	// of the system call that copies it.
	f, err := tsr.Open(in, &format.Options{Context: ctx, Check: format.CheckAll})
	if err != nil {
		return err
	}
	defer f.Close()
	head, err := h(f.At(0).Info())
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return cli.Replace(out, func(w io.Writer) error { return write(ctx, w, head, f.At(0)) })
}

func write(ctx context.Context, w io.Writer, head []byte, v tensor.View) error {
	if _, err := w.Write(head); err != nil {
		return err
	}
	return v.Use(func(b []byte) error {
		for piece := range slices.Chunk(b, 1<<24) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
		return nil
	})
}
