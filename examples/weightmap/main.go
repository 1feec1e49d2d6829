// Command weightmap inspects and verifies model files of every format the
// library knows.
//
//	weightmap inspect [-json [-sha256]] [-key HEX] FILE
//	weightmap verify [-trust PUB.pem] [-key HEX] FILE...
//
// Exit status: 0 fine, 1 a file is bad, 2 usage. Errors go to standard error,
// one line each, with format, field and offset.
package main

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// errUsage marks what is wrong with the command line, not with a file.
var errUsage = errors.New("usage")

// A command parses its own arguments.
type command struct {
	name, args, about string
	run               func(c *command, args []string, out, errs io.Writer) error
}

// commands is filled in by init because the help of each names all.
var commands []*command

func init() {
	commands = []*command{
		{"inspect", "[-json [-sha256]] [-key HEX] FILE", "show what a file holds", inspect},
		{"verify", "[-trust PUB.pem] [-key HEX] FILE...", "check everything the files carry", verify},
	}
}

func run(args []string, out, errs io.Writer) int {
	if len(args) > 0 {
		for _, c := range commands {
			if c.name == args[0] {
				return status(c.run(c, args[1:], out, errs), errs)
			}
		}
	}
	fmt.Fprintln(errs, "usage: weightmap COMMAND [arguments]")
	for _, c := range commands {
		fmt.Fprintf(errs, "  %-8s %-40s %s\n", c.name, c.args, c.about)
	}
	return 2
}

// status prints an error that was not printed yet and turns it into the exit
// status.
func status(err error, errs io.Writer) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		return 2
	case errors.Is(err, errUsage):
		fmt.Fprintln(errs, "weightmap:", err)
		return 2
	case errors.Is(err, errReported):
		return 1
	}
	complain(errs, err)
	return 1
}

// errReported stands for errors that were printed as they came.
var errReported = errors.New("reported")

// complain prints an error on one line, whatever a file made it contain.
func complain(errs io.Writer, err error) {
	fmt.Fprintln(errs, "weightmap:", printable(err.Error()))
}

// printable escapes what would disturb a terminal or a line.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// flags returns a flag set that reports its errors as usage.
func (c *command) flags(errs io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(c.name, flag.ContinueOnError)
	f.SetOutput(errs)
	f.Usage = func() {
		fmt.Fprintf(errs, "usage: weightmap %s %s\n", c.name, c.args)
		f.PrintDefaults()
	}
	return f
}

// parse reads the command line; flag has printed what is wrong with it.
func parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return flag.ErrHelp
	}
	return nil
}

// keyFlag adds -key and returns the options it sets.
func keyFlag(f *flag.FlagSet) *format.Options {
	o := &format.Options{}
	f.Func("key", "`HEX` key of an encrypted file, 64 digits", func(s string) error {
		key, err := hex.DecodeString(s)
		if err == nil && len(key) != 32 {
			err = fmt.Errorf("%d bytes, not 32", len(key))
		}
		o.Key = key
		return err
	})
	return o
}
