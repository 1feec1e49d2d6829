package main

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestSamples: the Go code in package docs and Markdown files is Go, and what it uses of the public
// packages is there.
func TestSamples(t *testing.T) {
	t.Chdir("../..")
	names := exportedNames(t)
	files := []string{"README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"}
	for _, pattern := range []string{"*/doc.go", "*/*/doc.go", "*/*/main.go"} { // TestDocumentation has the other one
		found, err := fs.Glob(os.DirFS("."), pattern)
		expect.OK(t, err)
		files = append(files, found...)
	}
	count := 0
	for _, file := range files {
		for _, sample := range samplesIn(t, file) {
			if !strings.Contains(sample, ":=") || strings.Contains(sample, "...\n") || strings.Contains(sample, "let ") {
				continue // no Go, or an outline
			}
			count++
			f, err := parser.ParseFile(token.NewFileSet(), file, "package p\nfunc _() {\n"+sample+"\n}", 0)
			if err != nil {
				t.Errorf("%s: %v in\n%s", file, err, sample)
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := s.X.(*ast.Ident)
				if ok && names[x.Name] != nil && !slices.Contains(names[x.Name], s.Sel.Name) {
					t.Errorf("%s: there is no %s.%s", file, x.Name, s.Sel.Name)
				}
				return true
			})
		}
	}
	if count < 8 {
		t.Errorf("only %d samples", count)
	}
}

// samplesIn returns the code blocks of a document.
func samplesIn(t *testing.T, file string) (samples []string) {
	text := string(expect.Read(t, file))
	if path.Ext(file) == ".md" {
		for i, part := range strings.Split(text, "```") {
			code, isGo := strings.CutPrefix(part, "go\n")
			if i%2 == 1 && isGo {
				samples = append(samples, code)
			}
		}
		return samples
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.PackageClauseOnly)
	expect.OK(t, err)
	for _, b := range new(comment.Parser).Parse(f.Doc.Text()).Content {
		code, ok := b.(*comment.Code)
		if ok {
			samples = append(samples, code.Text)
		}
	}
	return samples
}

// exportedNames returns the functions, types, variables and constants of the public packages in
// api.txt, by the last element of the package's path.
func exportedNames(t *testing.T) map[string][]string {
	names := map[string][]string{}
	for line := range strings.Lines(string(expect.Read(t, "internal/api/api.txt"))) {
		pkg, decl, _ := strings.Cut(line, ", ")
		kind, rest, _ := strings.Cut(decl, " ")
		if !slices.Contains([]string{"func", "type", "var", "const"}, kind) || strings.HasPrefix(rest, "(") {
			continue
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune(letters, r) })
		names[path.Base(pkg)] = append(names[path.Base(pkg)], rest[:end])
	}
	return names
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
