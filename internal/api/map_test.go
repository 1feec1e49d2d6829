package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestMap: every function in CONTRIBUTING's answers to where something is done is in the file that is named with it.
func TestMap(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile("CONTRIBUTING.md")
	expect.OK(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Where is it done?\n")
	section, _, _ = strings.Cut(section, "\n## ")
	n := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[2], "`") {
			continue
		}
		n++
		var declared []string
		for _, file := range quoted.FindAllStringSubmatch(cells[2], -1) {
			f, err := parser.ParseFile(token.NewFileSet(), file[1], nil, parser.SkipObjectResolution)
			expect.OK(t, err)
			declared = append(declared, functionsIn(f)...)
		}
		for _, name := range quoted.FindAllStringSubmatch(cells[3], -1) {
			if !slices.Contains(declared, name[1]) {
				t.Errorf("%s is not in %s", name[1], cells[2])
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d questions are answered", n)
	}
}

// functionsIn returns the names of a file's functions and methods, as go doc writes them.
func functionsIn(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		d, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if d.Recv == nil {
			names = append(names, d.Name.Name)
			continue
		}
		typ := d.Recv.List[0].Type
		star, ok := typ.(*ast.StarExpr)
		if ok {
			typ = star.X
		}
		name, ok := typ.(*ast.Ident)
		if ok {
			names = append(names, name.Name+"."+d.Name.Name)
		}
	}
	return names
}
