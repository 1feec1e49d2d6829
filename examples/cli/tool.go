// Package cli has code shared by the example programs: help, exit statuses, one-line error
// messages, and formatting of untrusted text for a terminal.
package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Exit statuses.
const (
	OK     = 0
	Failed = 1 // error in a file
	Misuse = 2 // error in the command line

	Interrupted = 130 // the status that shells use
)

// ErrReported is returned if the error messages were already printed.
var ErrReported = errors.New("reported")

// errUsage marks errors in the command line.
var errUsage = errors.New("usage")

// usageError wraps an error and errUsage, without adding to the text.
type usageError struct {
	error
	usage string // printed after the error unless there is advice; may be ""
}

func (usageError) Is(target error) bool { return target == errUsage }

func (e usageError) Unwrap() error { return e.error }

// BadArgument marks err as an error in the command line.
func BadArgument(err error) error { return usageError{err, ""} }

// Tool describes a program or a subcommand for its help.
type Tool struct {
	Name    string        // such as "weightmap inspect"
	Args    string        // synopsis after the name
	About   string        // one sentence
	Details string        // more lines, each ending in a newline; may be ""
	More    func() string // further lines that are made only for the help; may be nil
	Example string        // a complete command line
	Dash    string        // prefix of options in the help: "--", or "" for "-"

	listed func(*flag.FlagSet) // if not nil, receives the options instead of printing the help
}

// Program returns the first word of the name. It is the prefix of all error messages.
func (t *Tool) Program() string {
	program, _, _ := strings.Cut(t.Name, " ")
	return program
}

func (t *Tool) usage() string { return strings.TrimSpace(t.Name + " " + t.Args) }

// Usagef returns an error in the command line. Status prints the usage after it.
func (t *Tool) Usagef(text string, args ...any) error {
	return usageError{fmt.Errorf(text, args...), t.usage()}
}

func (t *Tool) dash() string { return cmp.Or(t.Dash, "-") }

// Flags returns an empty flag set that prints nothing.
func (t *Tool) Flags() *flag.FlagSet {
	f := flag.NewFlagSet(t.Name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return f
}

// help prints the usage, the options in f, and the example.
func (t *Tool) help(f *flag.FlagSet, out io.Writer) error {
	if t.listed != nil {
		t.listed(f)
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s\n\n%s\n", t.usage(), t.About)
	if t.Details != "" {
		b.WriteString("\n" + t.Details)
	}
	if t.More != nil {
		b.WriteString(t.More())
	}
	dash := t.dash()
	options := NewTable(Column{}, Column{})
	f.VisitAll(func(o *flag.Flag) {
		value, about := flag.UnquoteUsage(o)
		options.Row(strings.TrimSpace(dash+o.Name+" "+value), about)
	})
	options.Row(dash+"help", "print this text")
	options.Indent = "  "
	b.WriteString("\noptions:\n")
	if err := options.Write(&b, 0); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\nexample:\n  %s\n", t.Example)
	_, err := io.WriteString(out, b.String())
	return err
}

// advised is an error with a line of advice.
type advised struct {
	error
	line string
}

func (a advised) Unwrap() error { return a.error }

// Advised makes Status print a line unchanged after the error.
func Advised(err error, line string) error {
	if line == "" {
		return err
	}
	return advised{err, line}
}

// Status prints err on one line, unless it was printed before, and returns the exit status. After
// an error in the command line it prints advice or else the usage, on another line.
func (t *Tool) Status(err error, errs io.Writer) int {
	var a advised
	var u usageError
	switch {
	case errors.As(err, &a):
		defer fmt.Fprintln(errs, a.line)
		err = a.error
	case errors.As(err, &u) && u.usage != "":
		defer fmt.Fprintln(errs, "usage: "+u.usage)
	}
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return OK
	case errors.Is(err, context.Canceled):
		said := interruption("interrupted")
		errors.As(err, &said)
		t.Complain(said, errs)
		return Interrupted
	case errors.Is(err, ErrReported):
		return Failed
	}
	t.Complain(err, errs)
	if errors.Is(err, errUsage) {
		return Misuse
	}
	return Failed
}

// Each calls f for each path. It prints errors and continues.
func (t *Tool) Each(paths []string, errs io.Writer, f func(path string) error) error {
	var bad error
	for _, path := range paths {
		if err := f(path); errors.Is(err, context.Canceled) {
			return err
		} else if err != nil {
			t.Status(err, errs)
			bad = ErrReported
		}
	}
	return bad
}

// Complain prints an error on one line, with characters from files escaped.
func (t *Tool) Complain(err error, errs io.Writer) {
	fmt.Fprintf(errs, "%s: %s\n", t.Program(), Printable(t.text(err)))
}
