package write

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/tensor"
)

// checkPatterns returns an error if a pattern of -only, -skip or -rename matches no tensor, or if
// no tensors remain. Otherwise a misspelled pattern would write an empty or a complete model.
func (o *convertFlags) checkPatterns(path string, m *modelfile.NamedModel,
	keep func(tensor.Info) bool) error {
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
	}{{"only", o.only}, {"skip", o.skip}, {"quantize-only", o.quantizeOnly},
		{"quantize-except", o.quantizeExcept}} {
		for _, glob := range option.globs {
			if !matches(glob, all) {
				return noMatch("%s: -%s: no tensor matches %q", modelfile.ShownName(path), option.name, glob)
			}
		}
	}
	if len(o.skip) > 0 && len(kept) == 0 {
		return noMatch("%s: -skip leaves no tensor", modelfile.ShownName(path))
	}
	for _, rule := range o.rename {
		glob, _, _ := strings.Cut(rule, "=")
		if !matches(glob, kept) {
			return noMatch("%s: -rename: no tensor matches %q", modelfile.ShownName(path), glob)
		}
	}
	return nil
}

// matches reports whether glob matches any of the names.
func matches(glob string, names []string) bool {
	return slices.ContainsFunc(names, modelfile.GlobOf(glob).MatchString)
}

var errNoMatch = errors.New("no match")

// noMatchError is returned for a pattern that matches nothing.
type noMatchError string

func (e noMatchError) Error() string { return string(e) }

func (noMatchError) Is(target error) bool { return target == errNoMatch }

func noMatch(text string, args ...any) error { return noMatchError(fmt.Sprintf(text, args...)) }
