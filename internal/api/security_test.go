package main

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
	// named finds a list of tests and, if it says so, the packages that have all of them: "`TestA`, `TestB` in `mle` and `wia`".
	named    = regexp.MustCompile("((?:`(?:Test|Fuzz)[A-Z]\\w*`(?:,\\s+| and\\s+)?)+)(?:\\s*in\\s+((?:`[a-z/]+`(?:,\\s+| and\\s+)?)+))?")
	quoted   = regexp.MustCompile("`([^`]+)`")
	listItem = regexp.MustCompile(`^(- |\d+\. )`)
)

// tests returns the names of the tests of each directory of the module.
func tests(t *testing.T) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			all[path.Dir(name)] = append(all[path.Dir(name)], string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// items returns the list items of a section of a document, each with the lines that continue it.
func items(section string) (list []string) {
	for line := range strings.Lines(section) {
		switch {
		case listItem.MatchString(line):
			list = append(list, line)
		case strings.HasPrefix(line, "  ") && len(list) > 0:
			list[len(list)-1] += line
		}
	}
	return list
}

// TestSecurity: each promise of SECURITY.md names the tests that hold it, and these exist, in the packages that it names.
func TestSecurity(t *testing.T) {
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	all := tests(t)
	everywhere := slices.Concat(slices.Collect(maps.Values(all))...)
	count := 0
	for _, m := range named.FindAllStringSubmatch(string(text), -1) {
		for _, test := range quoted.FindAllStringSubmatch(m[1], -1) {
			count++
			if !slices.Contains(everywhere, test[1]) {
				t.Errorf("there is no %s", test[1])
			}
			for _, p := range quoted.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(all[p[1]], test[1]) {
					t.Errorf("%s has no %s", p[1], test[1])
				}
			}
		}
	}
	if count < 80 {
		t.Errorf("%d tests are named", count)
	}
	promises := []string{"What may a stranger's file do to me?", "Untrusted input", "Signatures", "Remote models", "Failed writes"}
	for _, title := range promises {
		_, section, found := strings.Cut(string(text), "\n## "+title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		list := items(section)
		if !found || len(list) < 4 {
			t.Errorf("%s: %d promises", title, len(list))
		}
		for _, item := range list {
			if !named.MatchString(item) {
				t.Errorf("%s: no test holds: %s", title, item)
			}
		}
	}
}
