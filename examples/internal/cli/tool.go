// Package cli is what the example programs share: help, exit statuses, errors
// of one line, and text from files made safe and short enough for a terminal.
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

// Exit statuses of all programs.
const (
	OK     = 0
	Failed = 1 // a file is bad
	Misuse = 2 // the command line is wrong

	Interrupted = 130 // as shells report it
)

// ErrReported stands for errors that were printed as they came.
var ErrReported = errors.New("reported")

// errUsage marks what is wrong with the command line, not with a file.
var errUsage = errors.New("usage")

// usageError hides its mark from the text of the error.
type usageError struct{ error }

func (usageError) Is(target error) bool { return target == errUsage }

func (e usageError) Unwrap() error { return e.error }

// BadArgument marks err as a mistake in the command line.
func BadArgument(err error) error { return usageError{err} }

// Tool is a program, or a subcommand of one, as its help shows it.
type Tool struct {
	Name    string // "weightmap inspect"
	Args    string // what follows the name
	About   string // a sentence
	Details string // more lines, each with its newline; may be empty
	Example string // a whole command line
	Dash    string // how options are spelled in the help: "--", or "-" when empty

	listed func(*flag.FlagSet) // gets the options in the place of the help, unless it is nil
}

// Program returns the first word of the name, which begins every error.
func (t *Tool) Program() string {
	program, _, _ := strings.Cut(t.Name, " ")
	return program
}

func (t *Tool) usage() string { return strings.TrimSpace(t.Name + " " + t.Args) }

// Usagef returns an error about the command line that ends in the usage.
func (t *Tool) Usagef(text string, args ...any) error {
	return usageError{fmt.Errorf("%s; usage: %s", fmt.Sprintf(text, args...), t.usage())}
}

func (t *Tool) dash() string { return cmp.Or(t.Dash, "-") }

// Flags returns a set of options that prints nothing by itself.
func (t *Tool) Flags() *flag.FlagSet {
	f := flag.NewFlagSet(t.Name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return f
}

// help prints the usage, the options that f knows, and an example.
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

// advised is an error with a line of advice that follows it.
type advised struct {
	error
	line string
}

func (a advised) Unwrap() error { return a.error }

// Advised has Status print a line behind the error, as it is.
func Advised(err error, line string) error {
	if line == "" {
		return err
	}
	return advised{err, line}
}

// Status prints an error that was not printed yet, on one line, and returns
// the exit status for it.
func (t *Tool) Status(err error, errs io.Writer) int {
	var a advised
	if errors.As(err, &a) {
		defer fmt.Fprintln(errs, a.line)
		err = a.error
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

// Each calls f for every path. It goes on after an error, which it prints.
func (t *Tool) Each(paths []string, errs io.Writer, f func(path string) error) error {
	var bad error
	for _, path := range paths {
		if err := f(path); errors.Is(err, context.Canceled) {
			return err
		} else if err != nil {
			t.Complain(err, errs)
			bad = ErrReported
		}
	}
	return bad
}

// Complain prints an error on one line, whatever a file made it contain.
func (t *Tool) Complain(err error, errs io.Writer) {
	fmt.Fprintf(errs, "%s: %s\n", t.Program(), Printable(t.text(err)))
}
