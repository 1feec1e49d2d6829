package cli

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// Parse parses options, which may be before, between and after the other arguments; f.Args returns
// the latter. "--" ends the options. For -help it prints the help to out and returns flag.ErrHelp.
func (t *Tool) Parse(f *flag.FlagSet, args []string, out io.Writer) error {
	var others []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			others = append(others, args...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			others = append(others, arg)
			continue
		}
		name, value, inline := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
		option := f.Lookup(name)
		switch {
		case option == nil && (name == "h" || name == "help"):
			if err := t.help(f, out); err != nil {
				return err
			}
			return flag.ErrHelp
		case option == nil:
			return t.unknown(f, arg, name)
		case inline:
		case IsSwitch(option):
			value = "true"
		case len(args) == 0:
			what, _ := flag.UnquoteUsage(option)
			return t.Usagef("%s%s needs a value: %s", t.dash(), name, what)
		default:
			value = args[0]
			args = args[1:]
		}
		if err := f.Set(name, value); err != nil {
			return t.Usagef("%s%s does not take %q: %s", t.dash(), name, value, reason(option, err))
		}
	}
	return f.Parse(append([]string{"--"}, others...)) // sets f.Args
}

// boolFlag is what package flag looks for in the value of an option that needs none.
type boolFlag interface{ IsBoolFlag() bool }

// IsSwitch reports whether an option has no value.
func IsSwitch(o *flag.Flag) bool {
	b, ok := o.Value.(boolFlag)
	return ok && b.IsBoolFlag()
}

// reason explains why a value is invalid. Package flag only says "parse error" if it is not a
// number.
func reason(o *flag.Flag, err error) string {
	switch text := err.Error(); {
	case text != "parse error":
		return text
	case IsSwitch(o):
		return "want true or false"
	default:
		return "want a number"
	}
}

// unknown returns the error for an unknown option.
func (t *Tool) unknown(f *flag.FlagSet, arg, name string) error {
	var names []string
	f.VisitAll(func(o *flag.Flag) { names = append(names, o.Name) })
	hint := DidYouMean(name, t.dash(), names)
	if _, err := os.Lstat(arg); err == nil {
		hint += fmt.Sprintf("; for the file %s, write ./%s", arg, arg)
	}
	return t.Usagef("unknown option %s%s", arg, hint)
}
