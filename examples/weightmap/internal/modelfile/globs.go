package modelfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// GlobOf compiles a pattern for tensor names: * matches any text, including dots and slashes, and ?
// any character. Each * is a group of the expression. A pattern that is not valid UTF-8 matches
// nothing.
func GlobOf(pattern string) *regexp.Regexp {
	if !utf8.ValidString(pattern) {
		return regexp.MustCompile(`^\b$`) // matches no text
	}
	text := strings.NewReplacer(`\*`, `(.*)`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile(`^(?s:` + text + `)$`)
}

// Matching returns a function that chooses tensors whose names match a pattern of
// only, or any if that is empty, and no pattern of skip. See globOf.
func Matching(only, skip []string) func(tensor.Info) bool {
	globs := func(list []string) (all []*regexp.Regexp) {
		for _, s := range list {
			all = append(all, GlobOf(s))
		}
		return all
	}
	in := globs(only)
	out := globs(skip)
	return func(t tensor.Info) bool {
		matches := func(g *regexp.Regexp) bool { return g.MatchString(t.Name) }
		return (len(in) == 0 || slices.ContainsFunc(in, matches)) && !slices.ContainsFunc(out, matches)
	}
}

// Renaming returns a function that renames tensors, from rules "FROM=TO". The first rule whose FROM
// matches a name applies: see globOf. Each * in TO is replaced with the text that the corresponding
// * of FROM matched, so "model.*=*" removes a prefix. A malformed rule is ErrOption.
func Renaming(rules ...string) (func(name string) string, error) {
	type rule struct {
		from *regexp.Regexp
		to   []string // the text between the stars
	}
	var list []rule
	for _, text := range rules {
		from, to, ok := strings.Cut(text, "=")
		r := rule{GlobOf(from), strings.Split(to, "*")}
		if !ok || from == "" || to == "" || len(r.to)-1 > r.from.NumSubexp() {
			return nil, &tensor.Error{Field: "Rename", Offset: -1,
				Err: fmt.Errorf("%w takes FROM=TO with no more * in TO than in FROM, not %q", format.ErrOption,
					text)}
		}
		list = append(list, r)
	}
	return func(name string) string {
		for _, r := range list {
			if m := r.from.FindStringSubmatch(name); m != nil {
				out := r.to[0]
				for i, s := range r.to[1:] {
					out += m[i+1] + s
				}
				return out
			}
		}
		return name
	}, nil
}

// List is an option that may be repeated.
type List []string

func (l *List) String() string { return strings.Join(*l, " ") }

func (l *List) Set(s string) error {
	*l = append(*l, s)
	return nil
}
