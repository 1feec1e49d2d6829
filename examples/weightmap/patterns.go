package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/tensor"
)

// checkPatterns demands that each of -only, -skip and -rename is about a tensor, and that
// tensors are left: what was misspelled would write an empty model, or all of it.
func (o *convertFlags) checkPatterns(path string, m *renamed, keep func(tensor.Info) bool) error {
	if len(o.only)+len(o.skip)+len(o.rename) == 0 {
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
	for _, glob := range o.only {
		if !matches(glob, all) {
			return fmt.Errorf("%s: -only: no tensor matches %q", path, glob)
		}
	}
	for _, glob := range o.skip {
		if !matches(glob, all) {
			return fmt.Errorf("%s: -skip: no tensor matches %q", path, glob)
		}
	}
	if len(o.skip) > 0 && len(kept) == 0 {
		return fmt.Errorf("%s: -skip: no tensor is left", path)
	}
	for _, rule := range o.rename {
		if glob, _, _ := strings.Cut(rule, "="); !matches(glob, kept) {
			return fmt.Errorf("%s: -rename: no tensor that is taken matches %q", path, glob)
		}
	}
	return nil
}

// matches reports whether any of the names is like glob.
func matches(glob string, names []string) bool {
	return slices.ContainsFunc(names, convert.Glob(glob).MatchString)
}
