package main

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestDocumentation: the root package's documentation lists every public package, and its sample has
// the statements of the package's example.
func TestDocumentation(t *testing.T) {
	packages, _ := loaded(t)
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(strings.ReplaceAll(f.Doc.Text(), ",", ""))
	for name := range packages {
		if !slices.Contains(words, "["+module+"/"+name+"]") {
			t.Errorf("doc.go has no link to %s/%s", module, name)
		}
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range new(comment.Parser).Parse(f.Doc.Text()).Content {
		if c, ok := b.(*comment.Code); ok && !strings.HasPrefix(c.Text, "import ") && !strings.Contains(trimmed(string(example)), trimmed(c.Text)) {
			t.Errorf("sample is not in example_test.go:\n%s", c.Text)
		}
	}
}

// loaded returns the results of load, from the root of the module on.
func loaded(t *testing.T) (map[string]*types.Package, types.Importer) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command lists the packages: ", err)
	}
	t.Chdir("../..")
	packages, imports, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return packages, imports
}

// trimmed returns the lines of a text without indentation.
func trimmed(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(l) + "\n")
	}
	return b.String()
}
