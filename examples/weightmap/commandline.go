package main

import (
	"flag"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
)

// commandLine holds the arguments of convert, to be modified by suggestions.
type commandLine struct {
	options [][]string // each with its value, if any
	files   []string
	makes   string // what the line makes, if that is not what was asked for
}

// split separates options from other arguments that were parsed with f.
func split(f *flag.FlagSet, args []string) (l commandLine) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			l.files = append(l.files, args...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			l.files = append(l.files, arg)
			continue
		}
		name, _, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		option := []string{arg}
		if !inline && !cli.IsSwitch(f.Lookup(name)) && len(args) > 0 {
			option, args = append(option, args[0]), args[1:]
		}
		l.options = append(l.options, option)
	}
	return l
}

// optionName returns the name of an option.
func optionName(option []string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(option[0], "-"), "=")
	return name
}

// without returns the line without some options.
func (l commandLine) without(names ...string) commandLine {
	l.options = slices.DeleteFunc(slices.Clone(l.options), func(o []string) bool { return slices.Contains(names, optionName(o)) })
	return l
}

// with returns the line with another option, which replaces options that it excludes.
func (l commandLine) with(option ...string) commandLine {
	if name := optionName(option); name != "skip" && name != "quantize-except" {
		l = l.without(name)
	}
	l.options = append([][]string{option}, l.options...)
	return l
}

// to returns the line with another OUT.
func (l commandLine) to(path string) commandLine {
	if slices.ContainsFunc(l.options, func(o []string) bool { return optionName(o) == "o" }) {
		return l.with("-o", path)
	}
	if l.files = slices.Clone(l.files); len(l.files) > 1 {
		l.files[1] = path
	}
	return l
}

// swapped returns the line with the first two files in the other order.
func (l commandLine) swapped() commandLine {
	l.files = slices.Clone(l.files)
	l.files[0], l.files[1] = l.files[1], l.files[0]
	return l
}

// args returns the arguments.
func (l commandLine) args() []string { return append(slices.Concat(l.options...), l.after()...) }

// tryLine formats a suggested command line, or returns "" if it cannot be printed. A line after "try: " makes what was
// asked for: scripts and people run it unread.
func tryLine(command string, l commandLine) string {
	line := quoted(append([]string{"weightmap", command}, l.args()...))
	if line == "" {
		return ""
	}
	if l.makes != "" {
		return l.makes + ": " + line
	}
	return "try: " + line
}

// after returns the file arguments, protected by "--" if necessary.
func (l commandLine) after() (files []string) {
	for _, path := range l.files {
		if strings.HasPrefix(path, "-") && path != standardInput {
			path = "./" + path
		}
		files = append(files, path)
	}
	return files
}
