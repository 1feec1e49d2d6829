package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/weightmap/weightmap/internal/save"
)

// OutputFlag adds -o, which names the file to write.
func (t *Tool) OutputFlag(f *flag.FlagSet) *string {
	return f.String("o", "", "write to `FILE`")
}

// InOut splits the arguments of a command that reads IN and writes OUT, which -o may name
// instead. rest follows the two.
func (t *Tool) InOut(f *flag.FlagSet, o string) (in, out string, rest []string, err error) {
	args := f.Args()
	switch {
	case o == "" && len(args) >= 2:
		in, out, rest = args[0], args[1], args[2:]
	case o != "" && len(args) >= 1:
		in, out, rest = args[0], o, args[1:]
	default:
		return "", "", nil, t.Usagef("%s is missing", []string{"IN", "OUT"}[len(args)])
	}
	return in, out, rest, CheckTarget(out)
}

// Output has f write to standard output, or to the file at path unless that is "" or "-".
// The file is put in place when all of it is written.
func (t *Tool) Output(path string, stdout io.Writer, f func(io.Writer) error) (err error) {
	if path == "" || path == "-" {
		return f(stdout)
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() { // a pipe or a device
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer w.Close()
		return f(w)
	}
	defer NewTarget(path).Ended(&err)
	w, err := save.CreateFile(path)
	if err != nil {
		return err
	}
	if err := f(w); err != nil {
		w.Abort()
		return err
	}
	return w.Commit(true)
}

// CheckOutput refuses to write over the file that is read.
func CheckOutput(path, in string) error {
	a, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if b, err := os.Stat(in); err == nil && os.SameFile(a, b) {
		return BadArgument(fmt.Errorf("-o %s would replace the file that is read", path))
	}
	return nil
}

// CheckBinary refuses to write what is not text onto a terminal.
func CheckBinary(path string, stdout io.Writer, what string) error {
	if (path == "" || path == "-") && Terminal(stdout) {
		return BadArgument(fmt.Errorf("%s is not for a terminal; -o FILE writes it to a file", what))
	}
	return nil
}

// CheckTarget refuses "-" as the file to write. Elsewhere it is a standard stream, and a
// file of that name would be a surprise.
func CheckTarget(path string) error {
	if path == "-" {
		return BadArgument(errors.New("the result cannot go to standard output: it is assembled next to the file it becomes; ./- is a file called -"))
	}
	return nil
}
