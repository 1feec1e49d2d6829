// Command tsr_info shows what TSR files contain:
//
//	$ tsr_info data.tsr
//	File: data.tsr
//	Format: TSR v1
//	Type: FP32
//	Shape: [2, 3, 4, 5] (N=2, C=3, H=4, W=5)
//	Elements: 120
//	Size: 480 bytes
//
// Fewer dims are the last ones of N, C, H, W: "[3, 4] (H=3, W=4)"; a scalar is
// "[] (scalar)". Size is that of the data, without the header. Several files
// are separated by empty lines, and a directory is shown file by file.
// Exit status: 0 for success, 1 if any file is bad, 2 for wrong usage.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
)

func main() { cli.Main(run) }

var tool = cli.Tool{
	Name: "tsr_info", Args: "FILE.tsr...",
	About:   "Show type, shape and size of TSR files; a directory is shown file by file.",
	Example: "tsr_info data.tsr",
}

func run(_ context.Context, args []string, stdout, stderr io.Writer) int {
	return tool.Status(info(args, stdout, stderr), stderr)
}

// info continues after an error.
func info(args []string, stdout, stderr io.Writer) error {
	f := tool.Flags()
	if err := tool.Parse(f, args, stdout); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return tool.Usagef("no FILE")
	}
	p := printer{out: stdout}
	return tool.Each(f.Args(), stderr, p.show)
}

// printer separates files by empty lines.
type printer struct {
	out io.Writer
	gap string // before the next file
}

// show prints the tensor of a file, or those of a directory's files.
func (p *printer) show(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := tsr.Open(path, nil)
	if err != nil {
		return err
	}
	defer f.Close()
	for name, v := range f.Tensors() {
		at := path
		if st.IsDir() {
			at = filepath.Join(path, name+".tsr")
		}
		if err := p.print(at, f.Version(), v); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) print(path, version string, v tensor.View) error {
	gap := p.gap
	p.gap = "\n"
	_, err := fmt.Fprintf(p.out, "%sFile: %s\nFormat: TSR v%s\nType: %s\nShape: %v (%s)\nElements: %d\nSize: %d bytes\n",
		gap, cli.Printable(path), version, tsr.TypeName(v.DType()), v.Shape(), axes(v.Shape()), v.Elems(),
		v.Info().Size)
	return err
}

// axes formats the dims with names: "H=3, W=4".
func axes(s tensor.Shape) string {
	if len(s) == 0 {
		return "scalar"
	}
	names := "NCHW"[4-len(s):]
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = fmt.Sprintf("%c=%d", names[i], d)
	}
	return strings.Join(parts, ", ")
}
