package main

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDocumentation: the root package's documentation lists every public package, and its sample has
// the statements of the package's example.
func TestDocumentation(t *testing.T) {
	t.Chdir("../..")
	packages, _, err := load()
	if err != nil {
		t.Fatal(err)
	}
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

// trimmed returns the lines of a text without indentation.
func trimmed(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(l) + "\n")
	}
	return b.String()
}
