package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/tensor"
)

// checkPatterns demands that each of -only, -skip and -rename is about a tensor, and that
// tensors are left: what was misspelled would write an empty model, or all of it.
func (o *convertFlags) checkPatterns(path string, m *renamed, keep func(tensor.Info) bool) error {
	if len(o.only)+len(o.skip)+len(o.rename)+len(o.quantizeOnly)+len(o.quantizeExcept) == 0 {
		return nil
	}
	var all, kept []string
	for name, v := range m.Tensors() {
		all = append(all, name)
		info := v.Info()
		info.Name = name
		if keep == nil || keep(info) {
			kept = append(kept, name)
		}
	}
	for _, option := range []struct {
		name  string
		globs []string
	}{{"only", o.only}, {"skip", o.skip}, {"quantize-only", o.quantizeOnly}, {"quantize-except", o.quantizeExcept}} {
		for _, glob := range option.globs {
			if !matches(glob, all) {
				return noMatch("%s: -%s: no tensor matches %q", path, option.name, glob)
			}
		}
	}
	if len(o.skip) > 0 && len(kept) == 0 {
		return noMatch("%s: -skip: no tensor is left", path)
	}
	for _, rule := range o.rename {
		if glob, _, _ := strings.Cut(rule, "="); !matches(glob, kept) {
			return noMatch("%s: -rename: no tensor that is taken matches %q", path, glob)
		}
	}
	return nil
}

// matches reports whether any of the names is like glob.
func matches(glob string, names []string) bool {
	return slices.ContainsFunc(names, convert.Glob(glob).MatchString)
}

var errNoMatch = errors.New("no match")

// noMatchError refuses a pattern that is about nothing.
type noMatchError string

func (e noMatchError) Error() string { return string(e) }

func (noMatchError) Is(target error) bool { return target == errNoMatch }

func noMatch(text string, args ...any) error { return noMatchError(fmt.Sprintf(text, args...)) }
