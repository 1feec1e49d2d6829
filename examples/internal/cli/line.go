package cli

import (
	"flag"
	"strings"
)

// Option is an option of a command.
type Option struct {
	Name, About string
	Value       string // what its help calls its value, "" for a switch
}

// Line is what a shell knows of a command line while it is typed.
type Line struct {
	Options []Option
	Value   *Option  // the option whose value is next
	Ended   bool     // "--" has ended the options
	Others  []string // the other arguments so far
}

// Read reads arguments as Parse does, with the options that t has when help prints its help.
func (t *Tool) Read(args []string, help func(*Tool)) *Line {
	l := &Line{}
	asked := *t
	asked.listed = func(f *flag.FlagSet) {
		f.VisitAll(func(o *flag.Flag) {
			value, about := flag.UnquoteUsage(o)
			if isSwitch(o) {
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
