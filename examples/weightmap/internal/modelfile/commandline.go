package modelfile

import (
	"flag"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
)

// CommandLine holds the arguments of convert, to be modified by suggestions.
type CommandLine struct {
	Options [][]string // each with its value, if any
	Files   []string
	Makes   string // what the line makes, if that is not what was asked for
}

// Split separates options from other arguments that were parsed with f.
func Split(f *flag.FlagSet, args []string) (l CommandLine) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			l.Files = append(l.Files, args...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			l.Files = append(l.Files, arg)
			continue
		}
		name, _, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		option := []string{arg}
		if !inline && !cli.IsSwitch(f.Lookup(name)) && len(args) > 0 {
			option = append(option, args[0])
			args = args[1:]
		}
		l.Options = append(l.Options, option)
	}
	return l
}

// NoFile returns the error for arguments without a FILE. If an option has taken a file for its
// value, it says so.
func NoFile(c *cli.Tool, f *flag.FlagSet, args []string) error {
	_, name, _ := strings.Cut(c.Name, " ")
	for _, option := range Split(f, args).Options {
		if len(option) == 2 && Exists(option[1]) {
			return c.Usagef("%s needs a FILE: %s is the value of %s", name, option[1], option[0])
		}
	}
	return c.Usagef("%s needs at least one FILE", name)
}

// OptionName returns the name of an option.
func OptionName(option []string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(option[0], "-"), "=")
	return name
}

// Without returns the line without some options.
func (l CommandLine) Without(names ...string) CommandLine {
	l.Options = slices.DeleteFunc(slices.Clone(l.Options),
		func(o []string) bool { return slices.Contains(names, OptionName(o)) })
	return l
}

// With returns the line with another option, which replaces options that it excludes.
func (l CommandLine) With(option ...string) CommandLine {
	if name := OptionName(option); name != "skip" && name != "quantize-except" {
		l = l.Without(name)
	}
	l.Options = append([][]string{option}, l.Options...)
	return l
}

// To returns the line with another OUT.
func (l CommandLine) To(path string) CommandLine {
	if slices.ContainsFunc(l.Options, func(o []string) bool { return OptionName(o) == "o" }) {
		return l.With("-o", path)
	}
	l.Files = slices.Clone(l.Files)
	if len(l.Files) > 1 {
		l.Files[1] = path
	}
	return l
}

// Swapped returns the line with the first two files in the other order.
func (l CommandLine) Swapped() CommandLine {
	l.Files = slices.Clone(l.Files)
	l.Files[0], l.Files[1] = l.Files[1], l.Files[0]
	return l
}

// Args returns the arguments.
func (l CommandLine) Args() []string { return append(slices.Concat(l.Options...), l.after()...) }

// TryLine formats a suggested command line, or returns "" if it cannot be printed. A line after
// "try: " makes what was asked for: scripts and people run it unread.
func TryLine(command string, l CommandLine) string {
	line := Quoted(append([]string{"weightmap", command}, l.Args()...))
	if line == "" {
		return ""
	}
	if l.Makes != "" {
		return l.Makes + ": " + line
	}
	return "try: " + line
}

// after returns the file arguments, protected by "--" if necessary.
func (l CommandLine) after() (files []string) {
	for _, path := range l.Files {
		if strings.HasPrefix(path, "-") && path != StandardInput {
			path = "./" + path
		}
		files = append(files, path)
	}
	return files
}
