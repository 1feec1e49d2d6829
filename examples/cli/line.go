package cli

import (
	"flag"
	"strings"
)

// Option describes an option of a command.
type Option struct {
	Name, About string
	Value       string // name of its value in the help, "" for a switch
}

// Line is a command line that is being completed.
type Line struct {
	Options []Option
	Value   *Option  // the option that expects a value next
	Ended   bool     // "--" occurred
	Others  []string // the other arguments so far
}

// Read parses arguments as Parse does, but for completion. Calling help must print the help of t,
// which tells Read the options.
func (t *Tool) Read(args []string, help func(*Tool)) *Line {
	l := &Line{}
	asked := *t
	asked.listed = func(f *flag.FlagSet) {
		f.VisitAll(func(o *flag.Flag) {
			value, about := flag.UnquoteUsage(o)
			if IsSwitch(o) {
				value = ""
			}
			l.Options = append(l.Options, Option{o.Name, about, value})
		})
	}
	help(&asked)
	for _, arg := range args {
		switch {
		case l.Value != nil:
			l.Value = nil
		case l.Ended || len(arg) < 2 || arg[0] != '-':
			l.Others = append(l.Others, arg)
		case arg == "--":
			l.Ended = true
		default:
			for i, o := range l.Options {
				if strings.TrimPrefix(arg[1:], "-") == o.Name && o.Value != "" {
					l.Value = &l.Options[i]
				}
			}
		}
	}
	return l
}
