package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// OutputFlag adds -o, the name of the output file.
func (t *Tool) OutputFlag(f *flag.FlagSet) *string {
	return f.String("o", "", "write to `FILE`")
}

// InOut returns the input and the output path of a command with the arguments IN and OUT; -o may
// replace OUT. rest holds further arguments.
func (t *Tool) InOut(f *flag.FlagSet, o string) (in, out string, rest []string, err error) {
	args := f.Args()
	switch {
	case o == "" && len(args) >= 2:
		in = args[0]
		out = args[1]
		rest = args[2:]
	case o != "" && len(args) >= 1:
		in = args[0]
		out = o
		rest = args[1:]
	default:
		return "", "", nil, t.Usagef("%s is missing", []string{"IN", "OUT"}[len(args)])
	}
	return in, out, rest, nil
}

// Output calls f with standard output if path is "" or "-", otherwise with a temporary file that
// replaces path if f succeeds.
func (t *Tool) Output(ctx context.Context, path string, stdout io.Writer,
	f func(io.Writer) error) (err error) {
	if path == "" || path == "-" {
		return f(stdout)
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() { // a pipe or a device
		w, err := Await(ctx, func() (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) })
		if err != nil {
			return err
		}
		return errors.Join(f(&stoppable{ctx, w}), w.Close())
	}
	defer NewTarget(path).Ended(&err)
	return Replace(path, f)
}

// CheckOutput returns an error if path is the input file.
func CheckOutput(path, in string) error {
	a, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if b, err := os.Stat(in); err == nil && os.SameFile(a, b) {
		return BadArgument(fmt.Errorf("-o %s would replace the input file", path))
	}
	return nil
}

// CheckBinary returns an error if binary output would go to a terminal.
func CheckBinary(path string, stdout io.Writer, what string) error {
	if (path == "" || path == "-") && Terminal(stdout) {
		return BadArgument(fmt.Errorf("%s cannot be shown in a terminal; -o FILE writes it to a file",
			what))
	}
	return nil
}

// CheckTarget returns an error if path is "-", for a file that cannot be written to standard
// output.
func CheckTarget(path string) error {
	if path == "-" {
		return BadArgument(errors.New("cannot write to standard output: name a file, ./- for a file called -"))
	}
	return nil
}
